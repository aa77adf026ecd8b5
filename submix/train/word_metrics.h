// How well a word-level language model predicts held-out text: the metrics of McMahan et al. 2018
// (Appendix B). Held-out users are not in the training, so these numbers cost its users nothing;
// they are not private for the held-out users.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/train/word_lstm.h"

namespace submix::train {

struct WordMetrics {
  std::int64_t tokens = 0;  // words and ends of texts
  // Shares of the tokens that were among the first 1, 3 and 5 predictions. A word outside the
  // dictionary is always a miss, also where kUnknown was predicted.
  double accuracy_top1 = 0;
  double accuracy_top3 = 0;
  double accuracy_top5 = 0;
  double loss = 0;        // nats a token; all words outside the dictionary count as one, kUnknown
  double perplexity = 0;  // exp(loss)
};

// Streams as the training reads them (word_stretches.h), each from an empty memory. Results do not
// depend on `threads` (1 or more). Errors: kInvalidArgument for no tokens; those of libtorch.
base::StatusOr<WordMetrics> EvaluateWordLstm(const WordLstmShape& shape,
                                             std::span<const float> parameters,
                                             std::span<const std::vector<base::TokenId>> streams,
                                             int threads);

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
