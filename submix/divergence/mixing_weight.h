// The mixing-weight solver: the largest weight whose cost stays within a target.
#pragma once

namespace submix::divergence {

// Evaluations of the cost that LargestFeasible makes, whatever the data: time must not tell.
inline constexpr int kMixingWeightEvaluations = 16;

// The bracket [feasible, infeasible] of the search. One thread at a time.
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
  enum class Side { kNone, kFeasible, kInfeasible };

  double Width() const { return infeasible_ - feasible_; }
  // Where the line through both ends crosses zero.
  double SecantPoint() const;

  double target_;
  double feasible_ = 0;
  double infeasible_;
  // sqrt(cost) - sqrt(target) at both ends, after Illinois' halvings.
  double feasible_gap_;
  double infeasible_gap_;
  double width_before_;  // of the bracket, before the last step
  double proposed_;
  Side last_side_ = Side::kNone;
  bool started_ = false;
};

// The largest x in [0, upper] with cost(x) <= target, for a non-decreasing cost with cost(0) = 0
// (a divergence along a mixture: B1.3 of the mathematics page).
//
// The returned x was itself evaluated and found feasible, or is 0: never a midpoint. A cost of NaN
// or infinity is infeasible. If target is not >= 0 (NaN too), the result is 0.
// Cost: exactly kMixingWeightEvaluations calls of cost(x), 0 <= x <= upper, whatever it returns.
// Divergences along a mixture are nearly quadratic, so secants on sqrt(cost) (Illinois' rule) find
// the end in a few steps; a step that did not halve the bracket is followed by a bisection. Error:
// below 1e-6 upper for smooth costs, upper * 2^-7 for any monotone one.
template <typename Cost>
double LargestFeasible(double upper, double target, const Cost& cost) {
  MixingWeightBracket bracket(upper, target);
  for (int i = 0; i < kMixingWeightEvaluations; ++i) {
    bracket.Observe(cost(bracket.Propose()));
  }
  return bracket.feasible();
}

}  // namespace submix::divergence
