// The mixing-weight solver: the largest weight whose cost stays within a target.
#pragma once

#include <array>

namespace submix::divergence {

// Evaluations of the cost that LargestFeasible makes, whatever the data: time must not tell.
inline constexpr int kMixingWeightEvaluations = 16;

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
  double feasible() const { return feasible_; }

 private:
  struct Point {
    double weight = 0;
    double gap = 0;  // sqrt(cost) - sqrt(target); infinity for costs that are not finite
    bool is_feasible = true;
  };

  double Width() const;
  // Where to look between newest_ (0) and opposite_ (1).
  double NextShare() const;

  double upper_;
  double target_;
  double target_root_;
  double feasible_ = 0;
  Point newest_;                         // the weight last proposed, one end of the bracket
  Point opposite_;                       // the other end
  Point replaced_;                       // the end that the last step moved
  std::array<double, 2> widths_before_;  // of the bracket, one and two steps ago
  bool started_ = false;
};

// The largest x in [0, upper] with cost(x) <= target, for a non-decreasing cost with cost(0) = 0
// (a divergence along a mixture: B1.3 of the mathematics page).
//
// The returned x was itself evaluated and found feasible, or is 0: never a midpoint. A cost of NaN
// or infinity is infeasible. If target is not >= 0 (NaN too), the result is 0.
// Cost: exactly kMixingWeightEvaluations calls of cost(x), 0 <= x <= upper, whatever it returns.
// Chandrupatla's method on sqrt(cost), which is nearly linear for divergences: inverse quadratic
// steps where they are safe, else bisection. Error: for divergences about 1e-6 upper or less, for
// any monotone cost at most upper * 2^-5. Requires: 0 <= upper < infinity.
template <typename Cost>
double LargestFeasible(double upper, double target, const Cost& cost) {
  MixingWeightBracket bracket(upper, target);
  for (int i = 0; i < kMixingWeightEvaluations; ++i) {
    bracket.Observe(cost(bracket.Propose()));
  }
  return bracket.feasible();
}

}  // namespace submix::divergence
