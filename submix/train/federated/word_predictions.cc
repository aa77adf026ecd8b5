#include "submix/train/federated/word_predictions.h"

#include <algorithm>

#include "submix/train/federated/word_stretches.h"
#include "submix/train/federated/word_vocabulary.h"
#include "submix/train/numerics/torch_errors.h"
#include "submix/train/private_training/client_threads.h"

namespace submix::train {
namespace {

using base::TokenId;

constexpr std::size_t kRows = 16;  // streams read side by side
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

}  // namespace

std::size_t NumStreamGroups(std::size_t num_streams) { return (num_streams + kRows - 1) / kRows; }

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

}  // namespace submix::train
