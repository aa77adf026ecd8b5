#include "submix/mechanism/baselines/ball_laws.h"

#include <algorithm>
#include <cmath>

#include "submix/mechanism/kernels/weight_kernels.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {
namespace {

constexpr double kTotal = static_cast<double>(kTotalWeight);

}  // namespace

base::StatusOr<BallLaws> BallLaws::Create(const PartPredictions& predictions) {
  SUBMIX_RETURN_IF_ERROR(CheckPublicPmf(predictions.public_pmf));
  BallLaws laws(predictions);
  laws.top_token_ = LargestIndex(predictions.public_pmf.data(), predictions.support_size());
  laws.public_law_.resize(predictions.support_size());
  QuantiseLaw(predictions.public_pmf, laws.top_token_, laws.public_law_);
  return laws;
}

bool BallLaws::PartPmf(int part, std::vector<double>& pmf) const {
  const auto first = predictions_.member(part, 0);
  const auto second = predictions_.member(part, predictions_.halves - 1);
  if (!IsPmf(first) || !IsPmf(second)) return false;
  pmf.resize(first.size());
  for (std::size_t x = 0; x < pmf.size(); ++x) pmf[x] = .5 * (first[x] + second[x]);
  return true;
}

LawWeights BallLaws::MaxBallLaw(int part, double radius) const {
  std::vector<double> pmf;
  if (!PartPmf(part, pmf)) return public_law_;
  // The lambda of a slightly smaller ball, so that rounding finds room.
  const double rise = std::expm1(radius * (1 - 0x1p-6));
  const double fall = -std::expm1(-radius * (1 - 0x1p-6));
  double scale = 1;
  for (std::size_t x = 0; x < pmf.size(); ++x) {
    const double excess = kTotal * pmf[x] / static_cast<double>(public_law_[x]) - 1;
    if (excess > 0) scale = std::min(scale, rise / excess);
    if (excess < 0) scale = std::min(scale, fall / -excess);
  }
  LawWeights law(pmf.size());
  std::int64_t left = 0;
  const auto bound = [&](std::size_t x, double factor) {
    return factor * static_cast<double>(public_law_[x]);
  };
  const double low = std::exp(-radius);
  const double high = std::exp(radius);
  for (std::size_t x = 0; x < pmf.size(); ++x) {
    const auto base = static_cast<double>(public_law_[x]);
    // Towards the public weight, and never out of the ball.
    const auto shift = static_cast<std::int64_t>(scale * (kTotal * pmf[x] - base));
    law[x] = static_cast<std::uint64_t>(static_cast<std::int64_t>(public_law_[x]) + shift);
    left -= shift;
  }
  law[top_token_] = static_cast<std::uint64_t>(static_cast<std::int64_t>(law[top_token_]) + left);
  for (std::size_t x = 0; x < pmf.size(); ++x) {
    const auto weight = static_cast<double>(law[x]);
    if (!(weight >= bound(x, low) && weight <= bound(x, high))) return public_law_;
  }
  return law;
}

}  // namespace submix::mechanism
