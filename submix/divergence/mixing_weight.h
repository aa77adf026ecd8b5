// Soundness does not depend on this file: what it finds is charged anew.
//
// The mixing-weight solver: the largest weight whose cost stays within a target.
#pragma once

#include <algorithm>
#include <array>

namespace submix::divergence {

// The state of the search: a bracket with one feasible and one infeasible end. One thread at a
// time.
class MixingWeightBracket {
 public:
  // Requires: 0 <= upper < infinity.
  MixingWeightBracket(double upper, double target);

  // The next weight to evaluate, in [0, upper].
  double Propose();
  // Takes the cost of the weight last proposed.
  void Observe(double cost);
  // The largest weight found feasible; 0 if none was.
  double feasible() const;

 private:
  // Positions are logarithms of the weight, from 0 (taken for weight 0) to 1 (upper).
  struct Point {
    double position = 0;
    double gap = 0;  // log(cost / target), clipped; infinity for NaN
    bool is_feasible = true;
  };

  double WeightAt(double position) const;
  double Width() const;
  // Where to look between newest_ (0) and opposite_ (1).
  double NextShare() const;

  double upper_;
  double target_;
  double feasible_ = 0;                  // a position
  Point newest_;                         // the weight last proposed, one end of the bracket
  Point opposite_;                       // the other end
  Point replaced_;                       // the end that the last step moved
  std::array<double, 2> widths_before_;  // of the bracket, one and two steps ago
  bool started_ = false;
};

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
template <typename Cost>
double LargestFeasible(double upper, double target, int evaluations, const Cost& cost) {
  MixingWeightBracket bracket(upper, target);
  for (int i = 0; i < evaluations; ++i) bracket.Observe(cost(bracket.Propose()));
  return bracket.feasible();
}

// The largest x in [0, upper] that was found to fit, to 2 upper * 2^-halvings; 0 if none was. `fits`
// holds up to some point. It is called so many times, for 0 < x <= upper, whatever it returns.
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
