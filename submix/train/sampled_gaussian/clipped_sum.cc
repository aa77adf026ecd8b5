#include "submix/train/sampled_gaussian/clipped_sum.h"

#include <algorithm>
#include <cmath>

#include "submix/accounting/calculators/dp_fedavg.h"
#include "submix/base/check.h"
#include "submix/train/kernels/vector_norm.h"
#include "submix/train/sampled_gaussian/gaussian_noise.h"

namespace submix::train {
namespace {

// Of the norm: more than all roundings of float32 add.
constexpr double kMargin = 1e-6;
constexpr double kUnitsOfClip = 0x1p40;
constexpr double kUnitsOfWeight = 0x1p20;
constexpr double kUnitsOfSensitivity = 0x1p36;
constexpr double kMostNoise = 0x1p20;
// Without a clipping norm: fine enough for float32, and numbers to 2^16.
constexpr double kUnclippedUnit = 0x1p-24;
constexpr const char* kTooManyUpdates = "more updates than the sum's grid is made for";

}  // namespace

std::vector<double> ClippingFactors(const UpdateClipping& clipping, const ParameterVectors& vectors,
                                    std::span<const float> update) {
  SUBMIX_CHECK(clipping.norm > 0, "a clipping norm out of range");
  std::vector<double> norms;
  double squares = 0;
  for (const ParameterVector& vector : vectors) {
    norms.push_back(VectorNorm(update.subspan(vector.begin, vector.size())));
    squares += norms.back() * norms.back();
  }
  std::vector<double> factors(norms.size(), 1.0);
  if (!std::isfinite(squares)) {
    std::ranges::fill(factors, 0.0);
    return factors;
  }
  const double whole = clipping.norm * (1 - kMargin);
  if (!clipping.per_layer) {
    const double norm = std::sqrt(squares);
    if (norm > whole) std::ranges::fill(factors, whole / norm);
    return factors;
  }
  const double of_each = whole / std::sqrt(static_cast<double>(norms.size()));
  for (std::size_t v = 0; v < norms.size(); ++v) {
    if (norms[v] > of_each) factors[v] = of_each / norms[v];
  }
  return factors;
}

double AverageEstimator::Sensitivity(double clip_norm) const {
  const accounting::WeightedAverage average = {clip_norm, sampling_probability, weight};
  return clipped_divisor ? accounting::ClippedDivisorSensitivity(average)
                         : accounting::FixedDivisorSensitivity(average);
}

ClippedSum::ClippedSum(ParameterVectors vectors, const UpdateClipping& clipping)
    : vectors_(std::move(vectors)), sum_(vectors_.back().end + 2) {
  Clear(clipping);
}

ClippedSum::ClippedSum(std::size_t size, double clip_norm)
    : ClippedSum({{"all", {static_cast<std::int64_t>(size)}, 0, size}}, {.norm = clip_norm}) {}

void ClippedSum::Clear() { std::ranges::fill(sum_, 0); }

void ClippedSum::Clear(const UpdateClipping& clipping) {
  SUBMIX_CHECK(clipping.norm > 0, "a clipping norm out of range");
  clipping_ = clipping;
  unit_ = std::isfinite(clipping.norm) ? clipping.norm / kUnitsOfClip : kUnclippedUnit;
  Clear();
}

void ClippedSum::Add(std::span<const float> update, double weight) {
  SUBMIX_CHECK(update.size() == size(), "an update of another model");
  SUBMIX_CHECK(weight >= 0 && weight <= 1, "a weight out of range");
  const auto weight_units = static_cast<std::int64_t>(weight * kUnitsOfWeight);
  sum_[size()] += weight_units;
  ++sum_.back();
  CheckCount();
  const double exact_weight = static_cast<double>(weight_units) / kUnitsOfWeight;
  const std::vector<double> factors = ClippingFactors(clipping_, vectors_, update);
  for (std::size_t v = 0; v < vectors_.size(); ++v) {
    if (!(factors[v] > 0)) continue;
    const double scale = factors[v] * exact_weight / unit_;
    for (std::size_t i = vectors_[v].begin; i < vectors_[v].end; ++i) {
      // Clipped numbers are far within the bounds; without clipping they must not overflow.
      const double scaled =
          std::clamp(scale * static_cast<double>(update[i]), -kUnitsOfClip, kUnitsOfClip);
      sum_[i] += static_cast<std::int64_t>(scaled);
    }
  }
}

void ClippedSum::Add(const ClippedSum& other) {
  SUBMIX_CHECK(other.clipping_ == clipping_ && other.sum_.size() == sum_.size(),
               "sums of different steps");
  SUBMIX_CHECK(other.sum_.back() <= kMostUpdates - sum_.back(), kTooManyUpdates);
  for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += other.sum_[i];
}

void ClippedSum::SumToRoot(Ranks& ranks) {
  ranks.SumToRoot(sum_);
  // The number itself cannot wrap: no rank has more than kMostUpdates.
  if (ranks.is_root()) CheckCount();
}

void ClippedSum::CheckCount() const { SUBMIX_CHECK(sum_.back() <= kMostUpdates, kTooManyUpdates); }

double ClippedSum::Divisor(const AverageEstimator& estimator) const {
  const double least = estimator.sampling_probability * estimator.weight;
  const double weight = static_cast<double>(sum_[size()]) / kUnitsOfWeight;
  return estimator.clipped_divisor ? std::max(least, weight) : least;
}

void ClippedSum::Release(const AverageEstimator& estimator, double noise_multiplier,
                         ledger::Receipt receipt, base::RandomSource& random,
                         std::span<float> average) const {
  SUBMIX_CHECK(receipt.is_valid() && receipt.paid().size() == 1 && receipt.paid()[0],
               "a private sum needs a receipt of its step");
  SUBMIX_CHECK(std::isfinite(clipping_.norm), "no clipping, no sensitivity");
  SUBMIX_CHECK(noise_multiplier >= 0 && noise_multiplier <= kMostNoise, "noise out of range");
  SUBMIX_CHECK(average.size() == size(), "a result of another size");
  const double grid = estimator.Sensitivity(clipping_.norm) / kUnitsOfSensitivity;
  const double grid_of_sum = unit_ / Divisor(estimator) / grid;
  const double noise_units = noise_multiplier * kUnitsOfSensitivity;
  GaussianNoise noise(random);
  for (std::size_t i = 0; i < size(); ++i) {
    const std::int64_t noisy = std::llround(grid_of_sum * static_cast<double>(sum_[i])) +
                               std::llround(noise_units * noise.Next());
    average[i] = static_cast<float>(grid * static_cast<double>(noisy));
  }
}

void ClippedSum::ReleaseWithoutPrivacy(const AverageEstimator& estimator,
                                       std::span<float> average) const {
  SUBMIX_CHECK(average.size() == size(), "a result of another size");
  const double scale = unit_ / Divisor(estimator);
  for (std::size_t i = 0; i < size(); ++i) {
    average[i] = static_cast<float>(scale * static_cast<double>(sum_[i]));
  }
}

}  // namespace submix::train
