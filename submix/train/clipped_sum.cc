#include "submix/train/clipped_sum.h"

#include <algorithm>
#include <cmath>

#include "submix/base/check.h"
#include "submix/train/adamw.h"
#include "submix/train/gaussian_noise.h"

namespace submix::train {
namespace {

constexpr double kUnitsOfClip = 0x1p32;
// The norm is summed in double: its relative error stays below (number of terms) * 2^-53, and two
// levels of summing keep that below 1e-9 for 2^38 parameters.
constexpr double kNormRounding = 1e-9;
constexpr double kMostNoise = 0x1p20;

}  // namespace

ClippedSum::ClippedSum(std::size_t size, double clip_norm) : clip_norm_(clip_norm), sum_(size) {
  SUBMIX_CHECK(clip_norm > 0 && std::isfinite(clip_norm), "a clipping norm out of range");
}

void ClippedSum::Clear() { std::ranges::fill(sum_, 0); }

void ClippedSum::Add(std::span<const float> gradient) {
  SUBMIX_CHECK(gradient.size() == sum_.size(), "a gradient of another model");
  const double norm = GradientNorm(gradient);
  if (!std::isfinite(norm)) return;
  const double longest = clip_norm_ * (1 - kNormRounding);
  const double scale = (norm > longest ? longest / norm : 1.0) * (kUnitsOfClip / clip_norm_);
  for (std::size_t i = 0; i < sum_.size(); ++i) {
    sum_[i] += static_cast<std::int64_t>(scale * static_cast<double>(gradient[i]));
  }
}

void ClippedSum::Release(double noise_multiplier, double divisor, ledger::Receipt receipt,
                         base::RandomSource& random, std::span<float> result) const {
  SUBMIX_CHECK(receipt.is_valid() && receipt.paid().size() == 1 && receipt.paid()[0],
               "a private sum needs a receipt of its step");
  SUBMIX_CHECK(noise_multiplier >= 0 && noise_multiplier <= kMostNoise && divisor > 0,
               "noise or divisor out of range");
  SUBMIX_CHECK(result.size() == sum_.size(), "a result of another size");
  GaussianNoise noise(random);
  const double noise_units = noise_multiplier * kUnitsOfClip;
  const double unit = clip_norm_ / kUnitsOfClip / divisor;
  for (std::size_t i = 0; i < sum_.size(); ++i) {
    const std::int64_t noisy = sum_[i] + std::llround(noise_units * noise.Next());
    result[i] = static_cast<float>(unit * static_cast<double>(noisy));
  }
}

}  // namespace submix::train
