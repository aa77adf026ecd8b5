#include "submix/divergence/mixing_weight.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "submix/base/check.h"

namespace submix::divergence {
namespace {

double Root(double cost) { return std::sqrt(std::max(cost, 0.0)); }

}  // namespace

MixingWeightBracket::MixingWeightBracket(double upper, double target)
    : target_(target),
      infeasible_(upper),
      feasible_gap_(target >= 0 ? -Root(target) : 0),
      infeasible_gap_(std::numeric_limits<double>::infinity()),
      width_before_(std::numeric_limits<double>::infinity()),
      proposed_(upper) {
  SUBMIX_CHECK(upper >= 0 && upper <= std::numeric_limits<double>::max(),
               "the largest mixing weight must be finite and not negative");
}

double MixingWeightBracket::SecantPoint() const {
  const double share = -feasible_gap_ / (infeasible_gap_ - feasible_gap_);
  return std::clamp(feasible_ + Width() * share, feasible_, infeasible_);
}

double MixingWeightBracket::Propose() {
  if (!started_) {
    started_ = true;
    return proposed_;  // `upper` first: usually it is feasible and that is the answer
  }
  const bool halved = Width() <= width_before_ / 2;
  const bool secant = halved && std::isfinite(infeasible_gap_) && infeasible_gap_ > feasible_gap_;
  width_before_ = Width();
  proposed_ = secant ? SecantPoint() : feasible_ + Width() / 2;
  return proposed_;
}

void MixingWeightBracket::Observe(double cost) {
  const double gap = Root(cost) - Root(target_);
  // Written so that NaN is infeasible, and an infinite cost even under an infinite target.
  if (cost <= target_ && std::isfinite(cost)) {
    feasible_ = proposed_;
    feasible_gap_ = gap;
    if (last_side_ == Side::kFeasible) infeasible_gap_ /= 2;
    last_side_ = Side::kFeasible;
  } else {
    infeasible_ = proposed_;
    infeasible_gap_ = std::isfinite(cost) ? gap : std::numeric_limits<double>::infinity();
    if (last_side_ == Side::kInfeasible) feasible_gap_ /= 2;
    last_side_ = Side::kInfeasible;
  }
}

}  // namespace submix::divergence
