#include "submix/mechanism/quantise.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "submix/base/check.h"
#include "submix/divergence/pmf.h"
#include "submix/mechanism/weight_kernels.h"

namespace submix::mechanism {
namespace {

// Mass `total` scaled so that rounding cannot make the floors of total * pmf sum to more than
// `total`: the error of CheckedSum and of each product is below (V + 8) 2^-53.
double ScaleBelow(double total, double sum, std::size_t support_size) {
  const double margin = static_cast<double>(support_size + 8) * 0x1p-51;
  return total * (1 - margin) / sum;
}

// False for NaN, CheckedSum's word for a value that is no probability.
bool SumsToOne(double sum) { return std::abs(sum - 1) <= divergence::kPmfSumTolerance; }

}  // namespace

bool IsPmf(std::span<const double> pmf) { return SumsToOne(CheckedSum(pmf.data(), pmf.size())); }

void QuantiseLaw(std::span<const double> pmf, std::size_t remainder_token,
                 std::span<std::uint64_t> weights) {
  const std::size_t support_size = pmf.size();
  SUBMIX_CHECK(weights.size() == support_size && remainder_token < support_size,
               "a law and its integers must have the same support");
  const double spread = static_cast<double>(kTotalWeight) - static_cast<double>(support_size);
  const double scale = ScaleBelow(spread, CheckedSum(pmf.data(), support_size), support_size);
  std::array<double, kBlockTokens> block;
  std::array<std::int64_t, kBlockTokens> integers;
  std::int64_t sum = 0;
  for (std::size_t begin = 0; begin < support_size; begin += kBlockTokens) {
    const std::size_t count = std::min(kBlockTokens, support_size - begin);
    for (std::size_t i = 0; i < count; ++i) block[i] = scale * pmf[begin + i];
    sum += FloorInPlace(block.data(), integers.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
      weights[begin + i] = 1 + static_cast<std::uint64_t>(integers[i]);
    }
  }
  const std::int64_t remainder = kTotalWeight - static_cast<std::int64_t>(support_size) - sum;
  SUBMIX_CHECK(remainder >= 0, "rounding down cannot add weight");
  weights[remainder_token] += static_cast<std::uint64_t>(remainder);
}

base::StatusOr<PublicWeights> PublicWeights::Create(std::span<const double> public_pmf,
                                                    int num_parts, double max_mixing_weight) {
  SUBMIX_CHECK(num_parts >= 1 && num_parts <= kMaxParts, "k W must stay below 2^63");
  SUBMIX_CHECK(max_mixing_weight > 0 && max_mixing_weight <= 1, "a mixing weight outside (0, 1]");
  if (!IsPmf(public_pmf)) {
    return base::InvalidArgumentError(
        "the public model's predictions: expected probabilities that sum to 1");
  }
  PublicWeights result;
  const std::size_t support_size = public_pmf.size();
  result.num_parts_ = num_parts;
  result.weights_.resize(support_size);
  result.top_token_ = LargestIndex(public_pmf.data(), support_size);
  QuantiseLaw(public_pmf, result.top_token_, result.weights_);

  const double floor_fraction = 1 - max_mixing_weight;
  const double others = num_parts - 1;
  result.floor_count_ = 1 + others * floor_fraction;
  result.room_.assign(PadToLanes(support_size), 0);
  result.least_rest_.assign(PadToLanes(support_size), 1);
  std::array<double, kBlockTokens> floors;
  std::array<std::int64_t, kBlockTokens> unused;
  for (std::size_t begin = 0; begin < support_size; begin += kBlockTokens) {
    const std::size_t count = std::min(kBlockTokens, support_size - begin);
    double* const weights = result.room_.data() + begin;  // for now
    for (std::size_t i = 0; i < count; ++i) {
      weights[i] = static_cast<double>(static_cast<std::int64_t>(result.weights_[begin + i]));
      floors[i] = floor_fraction * weights[i];
    }
    FloorInPlace(floors.data(), unused.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
      const double floor = std::max(1.0, floors[i]);
      result.least_rest_[begin + i] = weights[i] + others * floor;
      weights[i] -= floor;
    }
  }
  result.spare_ = CheckedSum(result.room_.data(), support_size);  // integers below 2^53: exact
  return result;
}

PartDirection::PartDirection(const PublicWeights& base, std::span<const double> public_pmf,
                             std::span<const double> first, std::span<const double> second)
    : base_(base), first_(first.data()), second_(second.data()), is_null_(false) {
  SUBMIX_CHECK(first.size() == base.size() && second.size() == base.size() &&
                   public_pmf.size() == base.size(),
               "a member's support is the public one");
  const double first_sum = CheckedSum(first_, base.size());
  const double second_sum = first_ == second_ ? first_sum : CheckedSum(second_, base.size());
  double sum = first_sum + second_sum;
  if (!SumsToOne(first_sum) || !SumsToOne(second_sum)) {
    is_null_ = true;
    // The same work as for any other part, on numbers that do no harm.
    first_ = public_pmf.data();
    second_ = public_pmf.data();
    sum = 2;
  }
  pmf_scale_ = ScaleBelow(base.spare(), sum, base.size());
}

void PartDirection::Fill(std::size_t begin, std::size_t count, double scale, double* block) const {
  FillShift(first_ + begin, second_ + begin, base_.room() + begin, pmf_scale_, scale, count, block);
  std::fill(block + count, block + PadToLanes(count), 0.0);
}

}  // namespace submix::mechanism
