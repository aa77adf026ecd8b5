// How well a word-level LSTM predicts held-out text, and how far it keeps to common words.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/train/federated/prediction_metrics.h"
#include "submix/train/federated/word_lstm.h"

namespace submix::train {

// Streams as the training reads them (word_stretches.h), each from an empty memory. Results do not
// depend on `threads` (1 or more). Errors: kInvalidArgument for no tokens; those of libtorch.
base::StatusOr<PredictionMetrics> EvaluateWordLstm(
    const WordLstmShape& shape, std::span<const float> parameters,
    std::span<const std::vector<base::TokenId>> streams, int threads);

// The paper's Table 3, on a sample of the held-out text.
inline constexpr int kTable3Heads[] = {10, 50, 100};
inline constexpr std::int64_t kTable3Tokens = 5000;

// How far a model keeps to common words (Table 3): at how many places i of its first ten
// predictions were among the `head` most frequent words of the dictionary.
struct HeadWordHistogram {
  static constexpr int kPredictions = 10;
  int head = 0;
  std::array<std::int64_t, kPredictions + 1> counts = {};  // [i]
};

// One a `head`, over all places of the streams. Errors: those of libtorch. Requires: threads >= 1.
base::StatusOr<std::vector<HeadWordHistogram>> CountHeadWords(
    const WordLstmShape& shape, std::span<const float> parameters,
    std::span<const std::vector<base::TokenId>> streams, std::span<const int> heads, int threads);

}  // namespace submix::train
