#include "submix/divergence/mixing_weight.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "submix/base/check.h"

namespace submix::divergence {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Each step stays this share of `upper` away from both ends, so that once one end has converged
// the next step brings the other end over.
constexpr double kLeastStep = 1e-7;

}  // namespace

MixingWeightBracket::MixingWeightBracket(double upper, double target)
    : upper_(upper),
      target_(target),
      target_root_(target >= 0 ? std::sqrt(target) : 0),
      widths_before_{kInfinity, kInfinity} {
  SUBMIX_CHECK(upper >= 0 && upper < kInfinity, "the largest mixing weight must be finite");
  opposite_.gap = -target_root_;
  replaced_ = opposite_;
}

double MixingWeightBracket::Width() const { return std::abs(opposite_.weight - newest_.weight); }

double MixingWeightBracket::Propose() {
  if (!started_) {
    started_ = true;
    newest_.weight = upper_;  // usually feasible, and then the answer
    return upper_;
  }
  if (feasible_ == upper_) return upper_;  // found at once; the rest is for equal work
  const double share = NextShare();
  const double width = Width();
  const double margin = std::min(0.5, kLeastStep * upper_ / width);
  widths_before_ = {width, widths_before_[0]};
  const double weight =
      newest_.weight + std::clamp(share, margin, 1 - margin) * (opposite_.weight - newest_.weight);
  replaced_ = newest_;
  newest_.weight = weight;
  return weight;
}

void MixingWeightBracket::Observe(double cost) {
  // Written so that NaN is infeasible, and an infinite cost even under an infinite target.
  newest_.is_feasible = cost <= target_ && std::isfinite(cost);
  newest_.gap = std::isfinite(cost) ? std::sqrt(std::max(cost, 0.0)) - target_root_ : kInfinity;
  if (newest_.is_feasible) feasible_ = std::max(feasible_, newest_.weight);
  // The root lies between this point and its predecessor: that one is the other end now.
  if (newest_.is_feasible != replaced_.is_feasible) std::swap(opposite_, replaced_);
}

double MixingWeightBracket::NextShare() const {
  const double a = newest_.gap;
  const double b = opposite_.gap;
  const double c = replaced_.gap;
  const bool shrinks = Width() <= widths_before_[1] / 2;
  if (!shrinks || !std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return 0.5;
  if (a == b) return 0.5;
  if (replaced_.weight == opposite_.weight) return a / (a - b);  // two points only: the secant
  if (a == c || b == c) return 0.5;
  // Chandrupatla 1997: the inverse quadratic through the three points is monotone in the bracket.
  const double xi = (newest_.weight - opposite_.weight) / (replaced_.weight - opposite_.weight);
  const double phi = (a - b) / (c - b);
  if (!(phi * phi < xi && (1 - phi) * (1 - phi) < 1 - xi)) return 0.5;
  const double reach = (replaced_.weight - newest_.weight) / (opposite_.weight - newest_.weight);
  return a / (b - a) * c / (b - c) + reach * (a / (c - a)) * (b / (c - b));
}

}  // namespace submix::divergence
