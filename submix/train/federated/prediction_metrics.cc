#include "submix/train/federated/prediction_metrics.h"

#include <cmath>

#include "submix/train/kernels/fused_kernels.h"

namespace submix::train {
namespace {

using base::TokenId;

constexpr std::array<int, 3> kTops = {1, 3, 5};

// How many predictions come before the target's.
int RankOf(TokenId target, TokenId least, std::span<const float> logits) {
  const float of_target = logits[static_cast<std::size_t>(target)];
  int rank = 0;
  for (auto id = static_cast<std::size_t>(least); id < logits.size(); ++id) {
    rank += logits[id] > of_target ||
            (logits[id] == of_target && id < static_cast<std::size_t>(target));
  }
  return rank;
}

}  // namespace

void PredictionCount::Add(TokenId target, std::span<float> logits) {
  ++tokens_;
  if (target != unknown_) {
    const int rank = RankOf(target, least_, logits);
    for (std::size_t i = 0; i < kTops.size(); ++i) hits_[i] += rank < kTops[i];
  }
  loss_ += SoftmaxCrossEntropyRow(logits.data(), std::ssize(logits), target, 1.0f);
}

void PredictionCount::Add(const PredictionCount& other) {
  tokens_ += other.tokens_;
  loss_ += other.loss_;
  for (std::size_t i = 0; i < kTops.size(); ++i) hits_[i] += other.hits_[i];
}

base::StatusOr<PredictionMetrics> PredictionCount::Metrics() const {
  if (tokens_ == 0) return base::InvalidArgumentError("no held-out words");
  const auto share = [&](std::int64_t count) {
    return static_cast<double>(count) / static_cast<double>(tokens_);
  };
  PredictionMetrics metrics;
  metrics.tokens = tokens_;
  metrics.accuracy_top1 = share(hits_[0]);
  metrics.accuracy_top3 = share(hits_[1]);
  metrics.accuracy_top5 = share(hits_[2]);
  metrics.loss = loss_ / static_cast<double>(tokens_);
  metrics.perplexity = std::exp(metrics.loss);
  return metrics;
}

}  // namespace submix::train
