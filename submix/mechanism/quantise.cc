#include "submix/mechanism/quantise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "submix/base/check.h"
#include "submix/divergence/pmf.h"
#include "submix/mechanism/kernels/weight_kernels.h"

namespace submix::mechanism {
namespace {

// QuantiseLaw of a pmf with a known sum.
void QuantiseLawWithSum(std::span<const double> pmf, double sum, std::size_t remainder_token,
                        std::span<std::uint64_t> weights) {
  const std::size_t support_size = pmf.size();
  SUBMIX_CHECK(weights.size() == support_size && remainder_token < support_size,
               "a law and its integers must have the same support");
  const double spread = static_cast<double>(kTotalWeight) - static_cast<double>(support_size);
  const std::int64_t floors = FloorToWeights(pmf.data(), ScaleBelow(spread, sum, support_size),
                                             support_size, weights.data());
  const std::int64_t remainder = kTotalWeight - static_cast<std::int64_t>(support_size) - floors;
  SUBMIX_CHECK(remainder >= 0, "rounding down cannot add weight");
  weights[remainder_token] += static_cast<std::uint64_t>(remainder);
}

base::Status CheckPublicSum(double checked_sum) {
  if (SumsToOne(checked_sum)) return base::OkStatus();
  return base::InvalidArgumentError(
      "the public model's predictions: expected probabilities that sum to 1");
}

}  // namespace

// The error of CheckedSum and of each product is below (V + 8) 2^-53.
double ScaleBelow(double total, double sum, std::size_t support_size) {
  const double margin = static_cast<double>(support_size + 8) * 0x1p-51;
  return total * (1 - margin) / sum;
}

// False for NaN, CheckedSum's word for a value that is no probability.
bool SumsToOne(double checked_sum) {
  return std::abs(checked_sum - 1) <= divergence::kPmfSumTolerance;
}

bool IsPmf(std::span<const double> pmf) { return SumsToOne(CheckedSum(pmf.data(), pmf.size())); }

base::Status CheckPublicPmf(std::span<const double> public_pmf) {
  return CheckPublicSum(CheckedSum(public_pmf.data(), public_pmf.size()));
}

void QuantiseLaw(std::span<const double> pmf, std::size_t remainder_token,
                 std::span<std::uint64_t> weights) {
  QuantiseLawWithSum(pmf, CheckedSum(pmf.data(), pmf.size()), remainder_token, weights);
}

base::StatusOr<PublicWeights> PublicWeights::Create(std::span<const double> public_pmf,
                                                    int num_parts, double max_mixing_weight) {
  SUBMIX_CHECK(num_parts >= 1 && num_parts <= kMaxParts, "k W must stay below 2^63");
  SUBMIX_CHECK(max_mixing_weight > 0 && max_mixing_weight <= 1, "a mixing weight outside (0, 1]");
  const double sum = CheckedSum(public_pmf.data(), public_pmf.size());
  SUBMIX_RETURN_IF_ERROR(CheckPublicSum(sum));
  const std::size_t support_size = public_pmf.size();
  const std::size_t padded_size = PadToLanes(support_size);
  const double floor_fraction = 1 - max_mixing_weight;
  const double others = num_parts - 1;
  PublicWeights result;
  result.num_parts_ = num_parts;
  result.floor_count_ = 1 + others * floor_fraction;
  result.top_token_ = LargestIndex(public_pmf.data(), support_size);
  result.weights_.resize(support_size);
  QuantiseLawWithSum(public_pmf, sum, result.top_token_, result.weights_);
  result.room_ = std::make_unique_for_overwrite<double[]>(padded_size);
  result.least_rest_ = std::make_unique_for_overwrite<double[]>(padded_size);
  result.spare_ = FillPublicFloors(result.weights_.data(), floor_fraction, others, support_size,
                                   result.room_.get(), result.least_rest_.get());
  std::fill(result.room_.get() + support_size, result.room_.get() + padded_size, 0.0);
  std::fill(result.least_rest_.get() + support_size, result.least_rest_.get() + padded_size, 1.0);
  return result;
}

PartDirection::PartDirection(const PublicWeights& base, std::span<const double> first,
                             std::span<const double> second)
    : first_(first.data()), second_(second.data()), room_(base.room()) {
  SUBMIX_CHECK(first.size() == base.size() && second.size() == base.size(),
               "a member's support is the public one");
  pmf_scale_ = ScaleBelow(base.spare(), 2, base.size());
}

MomentLanes PartDirection::Measure(const PublicWeights& base, int moments, int fall_moments) const {
  MomentLanes measured;
  const std::size_t whole = base.size() / kBlockTokens * kBlockTokens;
  for (std::size_t begin = 0; begin < whole; begin += kBlockTokens) {
    AddMoments(base.least_rest() + begin, Block(begin), kBlockTokens, moments, fall_moments,
               measured);
  }
  if (whole == base.size()) return measured;
  // The members' rows are not padded.
  std::array<double, kBlockTokens> first{};
  std::array<double, kBlockTokens> second{};
  std::copy(first_ + whole, first_ + base.size(), first.begin());
  std::copy(second_ + whole, second_ + base.size(), second.begin());
  AddMoments(base.least_rest() + whole, {first.data(), second.data(), room_ + whole, pmf_scale_},
             PadToLanes(base.size() - whole), moments, fall_moments, measured);
  return measured;
}

PartDirection PartDirection::Checked(const PublicWeights& base, std::span<const double> public_pmf,
                                     const MomentLanes& measured) const {
  const auto sum_of = [](const double(&lanes)[2][kLanes]) {
    return std::accumulate(lanes[1], lanes[1] + kLanes,
                           std::accumulate(lanes[0], lanes[0] + kLanes, 0.0));
  };
  const double first_sum = sum_of(measured.first_sums);
  const double second_sum = sum_of(measured.second_sums);
  const double least = *std::min_element(measured.least, measured.least + kLanes);
  const bool are_pmfs = SumsToOne(first_sum) && SumsToOne(second_sum) && least >= 0;
  PartDirection result = *this;
  result.is_null_ = !are_pmfs;
  result.first_ = are_pmfs ? first_ : public_pmf.data();
  result.second_ = are_pmfs ? second_ : public_pmf.data();
  result.pmf_scale_ = ScaleBelow(base.spare(), are_pmfs ? first_sum + second_sum : 2, base.size());
  return result;
}

void PartDirection::Fill(std::size_t begin, std::size_t count, double scale, double* block) const {
  FillShift(first_ + begin, second_ + begin, room_ + begin, pmf_scale_, scale, count, block);
  std::fill(block + count, block + PadToLanes(count), 0.0);
}

std::int64_t PartDirection::FillFloors(std::size_t begin, std::size_t count, double scale,
                                       double* block) const {
  std::fill(block + count, block + PadToLanes(count), 0.0);
  return mechanism::FillFloors(Block(begin), scale, count, block);
}

void PartDirection::AddFloors(std::size_t begin, std::size_t count, double scale,
                              std::uint64_t* weights) const {
  mechanism::AddFloors(Block(begin), scale, count, weights);
}

}  // namespace submix::mechanism
