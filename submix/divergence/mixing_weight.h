// The mixing-weight solver: the largest weight whose cost stays within a target.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace submix::divergence {

// Evaluations of the cost that LargestFeasible makes, whatever the data: time must not tell.
inline constexpr int kMixingWeightEvaluations = 20;

// The largest x in [0, upper] with cost(x) <= target, for a non-decreasing cost with cost(0) = 0
// (a divergence along a mixture: B1.3 of the mathematics page).
//
// The returned x was itself evaluated and found feasible, or is 0: never a midpoint. A cost of NaN
// or infinity is infeasible. If target is not >= 0 (NaN too), the result is 0.
// Cost: exactly kMixingWeightEvaluations calls of cost(x), 0 < x <= upper, whatever it returns.
// Divergences are nearly quadratic, so the secant on sqrt(cost) converges in a few steps; every
// third step halves the bracket, so the worst error is upper * 2^-6 for any monotone cost, and
// below 1e-9 upper for smooth ones.
// Requires: 0 <= upper < infinity.
template <typename Cost>
double LargestFeasible(double upper, double target, const Cost& cost);

}  // namespace submix::divergence
