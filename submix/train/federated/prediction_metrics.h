// How well a language model predicts held-out text: the metrics of McMahan et al. 2018
// (Appendix B). Held-out users are not in the training, so these numbers cost its users nothing;
// they are not private for the held-out users.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "submix/base/ids.h"
#include "submix/base/status.h"

namespace submix::train {

struct PredictionMetrics {
  std::int64_t tokens = 0;  // words and ends of texts
  // Shares of the tokens that were among the first 1, 3 and 5 predictions. A word outside the
  // dictionary is always a miss, also where its mark was predicted.
  double accuracy_top1 = 0;
  double accuracy_top3 = 0;
  double accuracy_top5 = 0;
  double loss = 0;        // nats a token; all words outside the dictionary count as one
  double perplexity = 0;  // exp(loss)
};

// What was predicted at a number of places. One thread at a time.
class PredictionCount {
 public:
  // Ids below `least` are never predicted: marks that no text holds. `unknown`, if not negative,
  // stands for all words outside the dictionary.
  explicit PredictionCount(base::TokenId least = 0, base::TokenId unknown = -1)
      : least_(least), unknown_(unknown) {}

  // A place where `target` came; overwrites the logits [V].
  void Add(base::TokenId target, std::span<float> logits);
  void Add(const PredictionCount& other);
  // Errors: kInvalidArgument for no places.
  base::StatusOr<PredictionMetrics> Metrics() const;

 private:
  base::TokenId least_;
  base::TokenId unknown_;
  std::int64_t tokens_ = 0;
  std::array<std::int64_t, 3> hits_ = {};
  double loss_ = 0;
};

}  // namespace submix::train
