// Soundness does not depend on this file: what it finds is charged anew.

#include "submix/divergence/mixing_weight.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "submix/base/check.h"
#include "submix/divergence/renyi_order.h"

namespace submix::divergence {
namespace {

// The logarithm of upper over the least weight that is looked at.
constexpr double kRange = 40;
// Costs are looked at from target * e^-80, below the least weight's, to target * e^1000.
constexpr double kLeastGap = -2 * kRange;
constexpr double kLargestGap = 1000;
// Each step stays this far away from both ends, so that once one end has converged the next step
// brings the other end over.
constexpr double kLeastStep = 1e-7;

// The state of the search: a bracket with one feasible and one infeasible end.
class Bracket {
 public:
  Bracket(double upper, double target)
      : upper_(upper), target_(target), widths_before_{kInfinity, kInfinity} {
    opposite_.gap = kLeastGap;
    replaced_ = opposite_;
  }

  // The next weight to evaluate, in [0, upper].
  double Propose() {
    if (!started_) {
      started_ = true;
      newest_.position = 1;  // usually feasible, and then the answer
      return WeightAt(1);
    }
    if (feasible_ == 1) return WeightAt(1);  // found at once; the rest is for equal work
    const double share = NextShare();
    const double width = Width();
    const double margin = std::min(0.5, kLeastStep / width);
    widths_before_ = {width, widths_before_[0]};
    const double position = newest_.position + std::clamp(share, margin, 1 - margin) *
                                                   (opposite_.position - newest_.position);
    replaced_ = newest_;
    newest_.position = position;
    return WeightAt(position);
  }

  // Takes the cost of the weight last proposed.
  void Observe(double cost) {
    // Written so that NaN is infeasible, and an infinite cost even under an infinite target.
    newest_.is_feasible = cost <= target_ && target_ > 0 && std::isfinite(cost);
    const double gap = std::log(cost / target_);
    newest_.gap = gap <= kLargestGap ? std::max(gap, kLeastGap) : kLargestGap;
    if (newest_.is_feasible) feasible_ = std::max(feasible_, newest_.position);
    // The root lies between this point and its predecessor: that one is the other end now.
    if (newest_.is_feasible != replaced_.is_feasible) std::swap(opposite_, replaced_);
  }

  // The largest weight found feasible; 0 if none was.
  double feasible() const { return feasible_ > 0 ? WeightAt(feasible_) : 0; }

 private:
  // Positions are logarithms of the weight, from 0 (taken for weight 0) to 1 (upper).
  struct Point {
    double position = 0;
    double gap = 0;  // log(cost / target), clipped; infinity for NaN
    bool is_feasible = true;
  };

  double WeightAt(double position) const { return upper_ * std::exp(kRange * (position - 1)); }
  double Width() const { return std::abs(opposite_.position - newest_.position); }

  // Where to look between newest_ (0) and opposite_ (1).
  double NextShare() const {
    const double a = newest_.gap;
    const double b = opposite_.gap;
    const double c = replaced_.gap;
    const bool shrinks = Width() <= widths_before_[1] / 2;
    if (!shrinks || a == b) return 0.5;
    // Two points only: the secant.
    if (replaced_.position == opposite_.position) return a / (a - b);
    if (a == c || b == c) return 0.5;
    // Chandrupatla 1997: the inverse quadratic through the three points is monotone in the bracket.
    const double xi =
        (newest_.position - opposite_.position) / (replaced_.position - opposite_.position);
    const double phi = (a - b) / (c - b);
    if (!(phi * phi < xi && (1 - phi) * (1 - phi) < 1 - xi)) return 0.5;
    const double reach =
        (replaced_.position - newest_.position) / (opposite_.position - newest_.position);
    return a / (b - a) * c / (b - c) + reach * (a / (c - a)) * (b / (c - b));
  }

  double upper_;
  double target_;
  double feasible_ = 0;                  // a position
  Point newest_;                         // the weight last proposed, one end of the bracket
  Point opposite_;                       // the other end
  Point replaced_;                       // the end that the last step moved
  std::array<double, 2> widths_before_;  // of the bracket, one and two steps ago
  bool started_ = false;
};

}  // namespace

double LargestFeasible(double upper, double target, int evaluations,
                       const std::function<double(double)>& cost) {
  SUBMIX_CHECK(upper >= 0 && upper < kInfinity, "the largest mixing weight must be finite");
  Bracket bracket(upper, target);
  for (int i = 0; i < evaluations; ++i) bracket.Observe(cost(bracket.Propose()));
  return bracket.feasible();
}

}  // namespace submix::divergence
