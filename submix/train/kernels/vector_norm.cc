#include "submix/train/kernels/vector_norm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace submix::train {
namespace {

// Each stretch is summed by itself, so that few roundings are added up.
constexpr std::size_t kStretch = 1 << 14;

double SumOfSquares(std::span<const float> numbers) {
  double sum = 0;
  for (const float number : numbers) {
    const double g = number;
    sum += g * g;
  }
  return sum;
}

}  // namespace

double VectorNorm(std::span<const float> numbers) {
  double total = 0;
  for (std::size_t begin = 0; begin < numbers.size(); begin += kStretch) {
    total += SumOfSquares(numbers.subspan(begin, std::min(kStretch, numbers.size() - begin)));
  }
  return std::sqrt(total);
}

// In double, squares of float32 neither overflow nor cancel.
bool AreFinite(std::span<const float> numbers) { return std::isfinite(VectorNorm(numbers)); }

}  // namespace submix::train
