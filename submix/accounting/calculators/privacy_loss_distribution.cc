#include "submix/accounting/calculators/privacy_loss_distribution.h"

#include <algorithm>
#include <cmath>

#include "submix/accounting/log_space.h"
#include "submix/base/check.h"

namespace submix::accounting {
namespace {

constexpr double kTailMass = 1e-25;

}  // namespace

PrivacyLossDistribution::PrivacyLossDistribution(const PrivacyLoss& loss, double step, Bound bound)
    : step_(step), bound_(bound) {
  SUBMIX_CHECK(step > 0, "a lattice needs a step");
  double reach = loss.reach;
  for (const auto& atom : loss.atoms) reach = std::max(reach, std::abs(atom.loss));
  const auto last = static_cast<std::int64_t>(std::ceil(reach / step - 1e-9));
  first_ = -last;
  probabilities_.assign(2 * last + 1, 0.0);
  for (const auto& atom : loss.atoms) At(std::llround(atom.loss / step)) += atom.p;
  if (!loss.continuous) return;
  if (bound == Bound::kUpper) {
    SetUpper(loss);
  } else {
    SetLower(loss);
  }
}

void PrivacyLossDistribution::SetUpper(const PrivacyLoss& loss) {
  const std::int64_t last = -first_;
  At(first_) += loss.continuous(-kInfinity, PointLoss(first_)).p;
  infinite_ = loss.continuous(PointLoss(last), kInfinity).p;
  for (std::int64_t i = first_; i < last; ++i) {
    const LossMass mass = loss.continuous(PointLoss(i), PointLoss(i + 1));
    const double above = mass.p - mass.q * std::exp(PointLoss(i));
    const double upper = std::clamp(above / -std::expm1(-step_), 0.0, mass.p);
    At(i + 1) += upper;
    At(i) += mass.p - upper;
  }
}

void PrivacyLossDistribution::SetLower(const PrivacyLoss& loss) {
  const std::int64_t last = -first_;
  LossMass carried;  // whose P/Q is below that of the point at hand
  for (std::int64_t i = first_; i < last; ++i) {
    const LossMass mass = loss.continuous(PointLoss(i), PointLoss(i + 1));
    const double ratio = std::exp(PointLoss(i));
    const double missing = carried.q * ratio - carried.p;
    const double surplus = mass.p - mass.q * ratio;
    double share = 0;  // of this cell's mass that lifts what is carried to the point at hand
    if (carried.p > 0 && missing <= surplus) {
      share = surplus > 0 ? std::max(missing, 0.0) / surplus : 0;
      At(i) += carried.p + share * mass.p;
      carried = {};
    }
    carried.p += (1 - share) * mass.p;
    carried.q += (1 - share) * mass.q;
  }
  At(last) += loss.continuous(PointLoss(last), kInfinity).p;
  if (carried.p == 0) return;
  // Nothing is left to lift it: down to the point below.
  const double point = std::floor(std::log(carried.p / carried.q) / step_);
  At(std::clamp(static_cast<std::int64_t>(point), first_, last)) += carried.p;
}

PrivacyLossDistribution PrivacyLossDistribution::Convolve(
    const PrivacyLossDistribution& other) const {
  PrivacyLossDistribution result = *this;
  result.first_ = first_ + other.first_;
  result.probabilities_.assign(probabilities_.size() + other.probabilities_.size() - 1, 0.0);
  for (std::size_t i = 0; i < probabilities_.size(); ++i) {
    const double p = probabilities_[i];
    if (p == 0) continue;
    double* const sums = result.probabilities_.data() + i;
    for (std::size_t j = 0; j < other.probabilities_.size(); ++j) {
      sums[j] += p * other.probabilities_[j];
    }
  }
  result.infinite_ = infinite_ + other.infinite_ - infinite_ * other.infinite_;
  result.Trim();
  return result;
}

void PrivacyLossDistribution::Trim() {
  std::size_t begin = 0, end = probabilities_.size();
  double below = 0, above = 0;
  while (begin + 1 < end && below + probabilities_[begin] < kTailMass) {
    below += probabilities_[begin++];
  }
  while (begin + 1 < end && above + probabilities_[end - 1] < kTailMass) {
    above += probabilities_[--end];
  }
  if (bound_ == Bound::kUpper) {
    probabilities_[begin] += below;
    infinite_ += above;
  } else {
    probabilities_[end - 1] += above;
  }
  probabilities_.erase(probabilities_.begin() + static_cast<std::ptrdiff_t>(end),
                       probabilities_.end());
  probabilities_.erase(probabilities_.begin(),
                       probabilities_.begin() + static_cast<std::ptrdiff_t>(begin));
  first_ += static_cast<std::int64_t>(begin);
}

PrivacyLossDistribution PrivacyLossDistribution::Power(std::int64_t count) const {
  SUBMIX_CHECK(count >= 1, "a composition of nothing");
  // From the highest bit down: the result is squared, and multiplied by *this where a bit is set.
  PrivacyLossDistribution result = *this;
  int bit = 62;
  while ((count >> bit & 1) == 0) --bit;
  while (--bit >= 0) {
    result = result.Convolve(result);
    if (count >> bit & 1) result = result.Convolve(*this);
  }
  return result;
}

double PrivacyLossDistribution::DeltaForEpsilon(double epsilon) const {
  double delta = infinite_;
  // From the top: the small terms first.
  for (std::size_t i = probabilities_.size(); i-- > 0;) {
    const double excess = PointLoss(first_ + static_cast<std::int64_t>(i)) - epsilon;
    if (!(excess > 0)) break;
    delta += probabilities_[i] * -std::expm1(-excess);
  }
  return std::min(delta, 1.0);
}

}  // namespace submix::accounting
