#include "submix/train/federated/word_metrics.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "submix/train/federated/word_stretches.h"
#include "submix/train/federated/word_vocabulary.h"
#include "submix/train/numerics/torch_errors.h"
#include "submix/train/private_training/client_threads.h"

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

std::size_t NumStreamGroups(std::size_t num_streams) { return (num_streams + kRows - 1) / kRows; }

// The logits [V] of one place may be overwritten.
using PredictionVisitor =
    std::function<void(std::size_t group, TokenId target, std::span<float> logits)>;

// Calls `visit` for every word of the streams, each read from an empty memory; within a group
// always in the same order.
base::Status VisitPredictions(const WordLstmShape& shape, std::span<const float> parameters,
                              std::span<const std::vector<TokenId>> streams, int threads,
                              const PredictionVisitor& visit) {
  return RunOnClientThreads(threads, NumStreamGroups(streams.size()), [&](ClientQueue& queue, int) {
    return CatchTorchErrors([&] {
      WordLstm lstm(shape, kRows, kUnroll);
      lstm.SetParameters(parameters);
      while (const auto group = queue.Next()) {
        const std::size_t begin = *group * kRows;
        VisitGroup(lstm, streams.subspan(begin, std::min(kRows, streams.size() - begin)),
                   [&](TokenId target, std::span<float> logits) { visit(*group, target, logits); });
      }
      return base::OkStatus();
    });
  });
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
