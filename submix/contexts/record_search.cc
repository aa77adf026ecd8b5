#include "submix/contexts/record_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

namespace submix::contexts {

using base::TokenId;

RecordSearch::RecordSearch(std::span<const std::vector<TokenId>> records) {
  double tokens = 0;
  for (const std::vector<TokenId>& record : records) {
    std::map<TokenId, int> counts;
    for (const TokenId token : record) ++counts[token];
    std::vector<Term>& terms = records_.emplace_back().terms;
    for (const auto& [token, count] : counts) {
      terms.push_back({token, count});
      const auto id = static_cast<std::size_t>(token);
      if (id >= holders_.size()) holders_.resize(id + 1, 0);
      ++holders_[id];
    }
    tokens += static_cast<double>(record.size());
  }
  const double mean = tokens / static_cast<double>(records.size());
  for (std::size_t r = 0; r < records.size(); ++r) {
    const double relative = static_cast<double>(records[r].size()) / mean;
    records_[r].length_factor = kSaturation * (1 - kLengthWeight + kLengthWeight * relative);
  }
}

std::vector<double> RecordSearch::Scores(std::span<const TokenId> query) const {
  const auto records = static_cast<double>(records_.size());
  std::vector<double> idf(holders_.size(), 0);  // of the query's tokens, by id
  for (const TokenId token : query) {
    const auto id = static_cast<std::size_t>(token);
    if (id >= holders_.size()) continue;
    const double holders = holders_[id];
    idf[id] = std::log1p((records - holders + 0.5) / (holders + 0.5));
  }
  std::vector<double> scores;
  scores.reserve(records_.size());
  for (const Record& record : records_) {
    double score = 0;
    for (const Term& term : record.terms) {
      score += idf[static_cast<std::size_t>(term.token)] * term.count * (kSaturation + 1) /
               (term.count + record.length_factor);
    }
    scores.push_back(score);
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
