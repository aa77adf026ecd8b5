#include "submix/train/federated/word_metrics.h"

#include <algorithm>
#include <numeric>

#include "submix/train/federated/word_predictions.h"
#include "submix/train/federated/word_vocabulary.h"

namespace submix::train {
namespace {

using base::TokenId;

// The first ten, without kBeginning, which nothing can be.
std::vector<TokenId> TopPredictions(std::span<const float> logits) {
  std::vector<TokenId> ids(logits.size() - 1);
  std::iota(ids.begin(), ids.end(), WordVocabulary::kBeginning + 1);
  const auto count = std::min<std::size_t>(HeadWordHistogram::kPredictions, ids.size());
  std::ranges::nth_element(
      ids, ids.begin() + static_cast<std::ptrdiff_t>(count) - 1,
      [&](TokenId a, TokenId b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  ids.resize(count);
  return ids;
}

}  // namespace

base::StatusOr<PredictionMetrics> EvaluateWordLstm(const WordLstmShape& shape,
                                                   std::span<const float> parameters,
                                                   std::span<const std::vector<TokenId>> streams,
                                                   int threads) {
  const PredictionCount none(WordVocabulary::kBeginning + 1, WordVocabulary::kUnknown);
  std::vector<PredictionCount> groups(NumStreamGroups(streams.size()), none);
  SUBMIX_RETURN_IF_ERROR(
      VisitPredictions(shape, parameters, streams, threads,
                       [&](std::size_t group, TokenId target, std::span<float> logits) {
                         groups[group].Add(target, logits);
                       }));
  PredictionCount total = none;
  for (const PredictionCount& group : groups) total.Add(group);
  return total.Metrics();
}

base::StatusOr<std::vector<HeadWordHistogram>> CountHeadWords(
    const WordLstmShape& shape, std::span<const float> parameters,
    std::span<const std::vector<TokenId>> streams, std::span<const int> heads, int threads) {
  std::vector<HeadWordHistogram> empty;
  for (const int head : heads) empty.push_back({head, {}});
  std::vector<std::vector<HeadWordHistogram>> groups(NumStreamGroups(streams.size()), empty);
  SUBMIX_RETURN_IF_ERROR(VisitPredictions(
      shape, parameters, streams, threads,
      [&](std::size_t group, TokenId, std::span<float> logits) {
        const std::vector<TokenId> top = TopPredictions(logits);
        for (HeadWordHistogram& histogram : groups[group]) {
          const auto hits = std::ranges::count_if(top, [&](TokenId id) {
            return id >= WordVocabulary::kMarks && id < WordVocabulary::kMarks + histogram.head;
          });
          ++histogram.counts[static_cast<std::size_t>(hits)];
        }
      }));
  std::vector<HeadWordHistogram> total = empty;
  for (const auto& group : groups) {
    for (std::size_t h = 0; h < total.size(); ++h) {
      for (std::size_t i = 0; i < total[h].counts.size(); ++i) {
        total[h].counts[i] += group[h].counts[i];
      }
    }
  }
  return total;
}

}  // namespace submix::train
