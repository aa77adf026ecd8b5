#include "submix/train/word_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "submix/train/fused_kernels.h"
#include "submix/train/word_predictions.h"
#include "submix/train/word_vocabulary.h"

namespace submix::train {
namespace {

using base::TokenId;

constexpr std::array<int, 3> kTops = {1, 3, 5};

struct Sums {
  std::int64_t tokens = 0;
  std::array<std::int64_t, kTops.size()> hits = {};
  double loss = 0;
};

// How many predictions come before the target's.
int RankOf(TokenId target, std::span<const float> logits) {
  const float of_target = logits[target];
  int rank = 0;
  for (std::size_t id = WordVocabulary::kBeginning + 1; id < logits.size(); ++id) {
    rank += logits[id] > of_target ||
            (logits[id] == of_target && id < static_cast<std::size_t>(target));
  }
  return rank;
}

void Count(TokenId target, std::span<float> logits, Sums& sums) {
  ++sums.tokens;
  if (target != WordVocabulary::kUnknown) {
    const int rank = RankOf(target, logits);
    for (std::size_t i = 0; i < kTops.size(); ++i) sums.hits[i] += rank < kTops[i];
  }
  sums.loss += SoftmaxCrossEntropyRow(logits.data(), std::ssize(logits), target, 1.0f);
}

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

base::StatusOr<WordMetrics> EvaluateWordLstm(const WordLstmShape& shape,
                                             std::span<const float> parameters,
                                             std::span<const std::vector<TokenId>> streams,
                                             int threads) {
  std::vector<Sums> sums(NumStreamGroups(streams.size()));
  SUBMIX_RETURN_IF_ERROR(
      VisitPredictions(shape, parameters, streams, threads,
                       [&](std::size_t group, TokenId target, std::span<float> logits) {
                         Count(target, logits, sums[group]);
                       }));
  Sums total;
  for (const Sums& part : sums) {
    total.tokens += part.tokens;
    total.loss += part.loss;
    for (std::size_t i = 0; i < kTops.size(); ++i) total.hits[i] += part.hits[i];
  }
  if (total.tokens == 0) return base::InvalidArgumentError("no held-out words");
  const auto share = [&](std::int64_t count) {
    return static_cast<double>(count) / static_cast<double>(total.tokens);
  };
  WordMetrics metrics;
  metrics.tokens = total.tokens;
  metrics.accuracy_top1 = share(total.hits[0]);
  metrics.accuracy_top3 = share(total.hits[1]);
  metrics.accuracy_top5 = share(total.hits[2]);
  metrics.loss = total.loss / static_cast<double>(total.tokens);
  metrics.perplexity = std::exp(metrics.loss);
  return metrics;
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
