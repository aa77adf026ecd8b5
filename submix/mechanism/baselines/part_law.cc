#include "submix/mechanism/baselines/part_law.h"

#include <algorithm>
#include <array>

#include "submix/base/check.h"
#include "submix/mechanism/kernels/weight_kernels.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {

PartPmf::PartPmf(const PartPredictions& predictions)
    : first_(predictions.public_pmf), second_(predictions.public_pmf) {
  sum_ = 2 * CheckedSum(first_.data(), first_.size());
}

PartPmf::PartPmf(const PartPredictions& predictions, int part)
    : first_(predictions.member(part, 0)),
      second_(predictions.member(part, predictions.halves - 1)) {
  const double first_sum = CheckedSum(first_.data(), first_.size());
  const double second_sum =
      predictions.halves == 1 ? first_sum : CheckedSum(second_.data(), second_.size());
  if (!SumsToOne(first_sum) || !SumsToOne(second_sum)) {
    *this = PartPmf(predictions);
    return;
  }
  sum_ = first_sum + second_sum;
}

void PartPmf::AddTo(std::span<std::uint64_t> weights, std::int64_t total,
                    std::size_t remainder_token) const {
  SUBMIX_CHECK(weights.size() == first_.size() && remainder_token < first_.size(),
               "weights of another support");
  SUBMIX_CHECK(total >= 0 && total <= std::int64_t{1} << 50, "a total out of range");
  const double scale = ScaleBelow(static_cast<double>(total), sum_, first_.size());
  std::array<double, kBlockTokens> block;
  std::array<std::int64_t, kBlockTokens> integers;
  std::int64_t rest = total;
  for (std::size_t begin = 0; begin < first_.size(); begin += kBlockTokens) {
    const std::size_t count = std::min(kBlockTokens, first_.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      block[i] = scale * (first_[begin + i] + second_[begin + i]);
    }
    rest -= FloorInPlace(block.data(), integers.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
      weights[begin + i] += static_cast<std::uint64_t>(integers[i]);
    }
  }
  SUBMIX_CHECK(rest >= 0, "rounding down cannot add weight");
  weights[remainder_token] += static_cast<std::uint64_t>(rest);
}

std::size_t PartPmf::TopToken() const {
  std::array<double, kBlockTokens> block;
  std::size_t top = 0;
  double largest = -1;
  for (std::size_t begin = 0; begin < first_.size(); begin += kBlockTokens) {
    const std::size_t count = std::min(kBlockTokens, first_.size() - begin);
    for (std::size_t i = 0; i < count; ++i) block[i] = first_[begin + i] + second_[begin + i];
    const std::size_t top_of_block = LargestIndex(block.data(), count);
    if (block[top_of_block] > largest) {
      largest = block[top_of_block];
      top = begin + top_of_block;
    }
  }
  return top;
}

}  // namespace submix::mechanism
