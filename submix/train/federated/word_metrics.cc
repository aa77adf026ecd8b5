#include "submix/train/federated/word_metrics.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "submix/train/federated/word_stretches.h"
#include "submix/train/federated/word_vocabulary.h"
#include "submix/train/numerics/client_threads.h"

namespace submix::train {
namespace {

using base::TokenId;

// Streams are read in groups, side by side; a group is one thread's at a time.
constexpr std::size_t kRows = 16;
constexpr int kUnroll = 10;

// Up to kRows streams, each a row of its own from beginning to end.
void VisitGroup(WordLstm& lstm, std::span<const std::vector<TokenId>> streams,
                const std::function<void(TokenId, std::span<float>)>& visit) {
  std::vector<WordStretches> rows;
  std::size_t batches = 0;
  for (const std::vector<TokenId>& stream : streams) {
    rows.emplace_back(stream, /*rows=*/1, kUnroll);
    batches = std::max(batches, rows.back().num_batches());
  }
  lstm.ResetState();
  WordBatch row;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    WordBatch all;
    all.rows = static_cast<int>(rows.size());
    all.steps = kUnroll;
    all.inputs.assign(kUnroll * rows.size(), WordVocabulary::kBeginning);
    all.targets.assign(kUnroll * rows.size(), -1);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (!rows[r].Fill(batch, row)) continue;
      for (std::size_t step = 0; step < static_cast<std::size_t>(row.steps); ++step) {
        all.inputs[step * rows.size() + r] = row.inputs[step];
        all.targets[step * rows.size() + r] = row.targets[step];
      }
    }
    lstm.Predict(all, visit);
  }
}

// Calls `add(total, target, logits)` for every word of the streams, each read from an empty memory,
// with a total of the word's group (at first `none`), and returns all groups'. Within a group the
// order is always the same. The logits [V] may be overwritten.
template <typename Total, typename Add>
base::StatusOr<std::vector<Total>> CountOfGroups(const WordLstmShape& shape,
                                                 std::span<const float> parameters,
                                                 std::span<const std::vector<TokenId>> streams,
                                                 int threads, const Total& none, const Add& add) {
  const std::size_t num_groups = (streams.size() + kRows - 1) / kRows;
  std::vector<Total> totals(num_groups, none);
  SUBMIX_RETURN_IF_ERROR(RunOnClientThreads(threads, num_groups, [&](ClientQueue& queue, int) {
    WordLstm lstm(shape, kRows, kUnroll);
    lstm.SetParameters(parameters);
    while (const auto group = queue.Next()) {
      const std::size_t begin = *group * kRows;
      VisitGroup(
          lstm, streams.subspan(begin, std::min(kRows, streams.size() - begin)),
          [&](TokenId target, std::span<float> logits) { add(totals[*group], target, logits); });
    }
    return base::OkStatus();
  }));
  return totals;
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

base::StatusOr<PredictionMetrics> EvaluateWordLstm(const WordLstmShape& shape,
                                                   std::span<const float> parameters,
                                                   std::span<const std::vector<TokenId>> streams,
                                                   int threads) {
  const PredictionCount none(WordVocabulary::kBeginning + 1, WordVocabulary::kUnknown);
  SUBMIX_ASSIGN_OR_RETURN(
      const std::vector<PredictionCount> groups,
      CountOfGroups(shape, parameters, streams, threads, none,
                    [](PredictionCount& count, TokenId target, std::span<float> logits) {
                      count.Add(target, logits);
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
  SUBMIX_ASSIGN_OR_RETURN(
      const std::vector<std::vector<HeadWordHistogram>> groups,
      CountOfGroups(
          shape, parameters, streams, threads, empty,
          [](std::vector<HeadWordHistogram>& histograms, TokenId, std::span<float> logits) {
            const std::vector<TokenId> top = TopPredictions(logits);
            for (HeadWordHistogram& histogram : histograms) {
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
