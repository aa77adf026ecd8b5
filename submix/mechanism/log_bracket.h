// The largest feasible scale of an excess, to a relative error.
#pragma once

#include <algorithm>
#include <cmath>

#include "submix/divergence/mixing_weight.h"

namespace submix::mechanism {

// The largest s in [0, upper] found with excess(s) <= target, for a non-decreasing excess with
// excess(0) = 0. The result was itself evaluated and found feasible, or is 0; scales below
// upper * e^-40 count as 0. Exactly `evaluations` evaluations. Relative error of the scale: about
// 1e-5 after 10 if the excess is nearly a power, below 1e-6 after 16 in any case met.
//
// Excesses are nearly powers of the scale, from the first to the order-th, over many magnitudes: so
// the bracket works in log(scale) and log(excess), where one in the scale itself is blinded by an
// excess of 10^300 at its far end.
// Requires: target > 0.
template <typename Excess>
double LargestScaleInLogBracket(double upper, double target, int evaluations,
                                const Excess& excess) {
  constexpr double kRange = 40;
  constexpr double kTargetRoot = 2 * kRange;
  constexpr double kLargestLog = 1000;
  const auto scale_at = [&](double position) { return upper * std::exp(kRange * (position - 1)); };
  // MixingWeightBracket takes square roots of costs.
  divergence::MixingWeightBracket bracket(1.0, kTargetRoot * kTargetRoot);
  for (int i = 0; i < evaluations; ++i) {
    const double log_ratio = std::log(excess(scale_at(bracket.Propose())) / target);
    // NaN stays NaN, which the bracket takes as infeasible.
    const double root = log_ratio > kLargestLog ? kTargetRoot + kLargestLog
                                                : std::max(kTargetRoot + log_ratio, 0.0);
    bracket.Observe(root * root);
  }
  return bracket.feasible() > 0 ? scale_at(bracket.feasible()) : 0;
}

}  // namespace submix::mechanism
