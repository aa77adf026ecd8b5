#include "submix/contexts/record_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

namespace submix::contexts {

using base::TokenId;

RecordSearch::RecordSearch(std::span<const std::vector<TokenId>> records) {
  double tokens = 0;
  for (int record = 0; record < std::ssize(records); ++record) {
    std::map<TokenId, int> counts;
    for (const TokenId token : records[static_cast<std::size_t>(record)]) ++counts[token];
    for (const auto& [token, count] : counts) postings_[token].push_back({record, count});
    tokens += static_cast<double>(records[static_cast<std::size_t>(record)].size());
  }
  const double mean = tokens / static_cast<double>(records.size());
  for (const std::vector<TokenId>& record : records) {
    const double relative = static_cast<double>(record.size()) / mean;
    length_factors_.push_back(kSaturation * (1 - kLengthWeight + kLengthWeight * relative));
  }
}

std::vector<double> RecordSearch::Scores(std::span<const TokenId> query) const {
  const auto records = static_cast<double>(length_factors_.size());
  std::vector<double> scores(length_factors_.size(), 0);
  for (const TokenId token : std::set<TokenId>(query.begin(), query.end())) {
    const auto found = postings_.find(token);
    if (found == postings_.end()) continue;
    const auto holders = static_cast<double>(found->second.size());
    const double idf = std::log1p((records - holders + 0.5) / (holders + 0.5));
    for (const Posting& posting : found->second) {
      const auto record = static_cast<std::size_t>(posting.record);
      scores[record] +=
          idf * posting.count * (kSaturation + 1) / (posting.count + length_factors_[record]);
    }
  }
  return scores;
}

std::vector<int> RecordSearch::Ranked(std::span<const TokenId> query) const {
  const std::vector<double> scores = Scores(query);
  std::vector<int> ranked(scores.size());
  std::iota(ranked.begin(), ranked.end(), 0);
  std::ranges::stable_sort(ranked, std::greater(),
                           [&](int record) { return scores[static_cast<std::size_t>(record)]; });
  return ranked;
}

}  // namespace submix::contexts
