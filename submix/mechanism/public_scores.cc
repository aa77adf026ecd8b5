#include "submix/mechanism/public_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "submix/base/check.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {
namespace {

constexpr std::size_t kLargestSupport = std::size_t{1} << 20;
constexpr double kLeastWeight = 0x1p20;
// sum y <= S e^clip sum g <= 2^61 (1 + V floor) (1 + tiny) < 2^62, since V floor <= 2^20 2^-41 e^12
// is below 0.08.
constexpr double kLargestTotal = 0x1p61;

}  // namespace

base::StatusOr<PublicScores> PublicScores::Create(std::span<const double> public_pmf, double clip) {
  SUBMIX_CHECK(clip >= 0 && clip <= kLargestClip, "a clip out of range");
  if (!IsPmf(public_pmf) || public_pmf.size() > kLargestSupport) {
    return base::InvalidArgumentError(
        "the public model's predictions: expected probabilities of at most 2^20 tokens that sum "
        "to 1");
  }
  const double scale = kLargestTotal * std::exp(-clip);
  const double floor = kLeastWeight * std::exp(clip) / scale;
  PublicScores scores;
  scores.scaled_.resize(public_pmf.size());
  scores.half_inverse_.resize(public_pmf.size());
  for (std::size_t x = 0; x < public_pmf.size(); ++x) {
    scores.scaled_[x] = scale * std::max(public_pmf[x], floor);
    scores.half_inverse_[x] = .5 / std::max(public_pmf[x], std::numeric_limits<double>::min());
    scores.total_ += scores.scaled_[x];
  }
  return scores;
}

}  // namespace submix::mechanism
