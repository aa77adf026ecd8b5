// The losses of one run under one model or mechanism, as both perplexities.
#pragma once

#include <cmath>
#include <cstdint>

namespace submix::eval {

// Positions a block of the SubMix paper's perplexity has (its L).
inline constexpr std::int64_t kBlockPositions = 512;

// In nats.
class RunLosses {
 public:
  void Add(double loss) {
    sum_ += loss;
    block_sum_ += loss;
    ++positions_;
    if (positions_ % kBlockPositions == 0) FinishBlock(kBlockPositions);
  }
  double Perplexity() const { return std::exp(sum_ / static_cast<double>(positions_)); }
  double BlockPerplexity() const {
    RunLosses whole = *this;
    if (const std::int64_t rest = positions_ % kBlockPositions; rest > 0) whole.FinishBlock(rest);
    return whole.block_perplexities_ / static_cast<double>(whole.blocks_);
  }

 private:
  void FinishBlock(std::int64_t positions) {
    block_perplexities_ += std::exp(block_sum_ / static_cast<double>(positions));
    block_sum_ = 0;
    ++blocks_;
  }

  double sum_ = 0;
  double block_sum_ = 0;
  double block_perplexities_ = 0;
  std::int64_t positions_ = 0;
  std::int64_t blocks_ = 0;
};

}  // namespace submix::eval
