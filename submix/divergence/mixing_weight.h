// Soundness does not depend on this file: what it finds is charged anew.
//
// The mixing-weight solver: the largest weight whose cost stays within a target.
#pragma once

#include <algorithm>
#include <functional>

namespace submix::divergence {

// The largest x in [0, upper] with cost(x) <= target, for a non-decreasing cost with cost(0) = 0
// (a divergence along a mixture: convex in the weight, or its excess).
//
// The returned x was itself evaluated and found feasible, or is 0: never a midpoint. A cost of NaN
// or infinity is infeasible. If the target is not > 0 (NaN too), the result is 0. Weights below
// upper * e^-40 count as 0.
// Cost: exactly `evaluations` calls of cost(x), 0 < x <= upper, whatever it returns.
//
// Costs of mixtures are nearly powers of the weight, from the first to the order-th, over many
// magnitudes: so this is Chandrupatla's method on log(cost) against log(x), where a search in x
// would be blinded by a cost of 10^300 at its far end. Relative error of x: about 1e-5 after 10
// evaluations if the cost is nearly a power; for any monotone cost the result is at least
// e^(-40 / 2^((n-1)/3)) of the largest feasible x after n.
// Requires: 0 <= upper < infinity, evaluations >= 1.
double LargestFeasible(double upper, double target, int evaluations,
                       const std::function<double(double)>& cost);

// The largest x in [0, upper] that was found to fit, to 2 upper * 2^-halvings; 0 if none was.
// `fits` holds up to some point. It is called so many times, for 0 < x <= upper, whatever it
// returns.
template <typename Fits>
double LargestByHalving(double upper, int halvings, const Fits& fits) {
  double feasible = 0;
  double step = upper;
  for (int i = 0; i < halvings; ++i) {
    // Where `upper` fits too: the work must not show that it did.
    const double x = std::min(upper, feasible + step);
    feasible = fits(x) ? x : feasible;
    step /= 2;
  }
  return feasible;
}

}  // namespace submix::divergence
