// Soundness does not depend on this file: whatever it finds is rounded, charged and checked anew.

#include "submix/mechanism/mixing_scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "submix/divergence/mixing_weight.h"
#include "submix/mechanism/kernels/shift_kernels.h"
#include "submix/mechanism/kernels/weight_kernels.h"

namespace submix::mechanism {
namespace {

// The series of tokens that rise is cut off after the fourth power.
constexpr int kLeastDegree = 4;

int UpToWholeGroups(int moments) {
  return (moments + kMomentsAtATime - 1) / kMomentsAtATime * kMomentsAtATime;
}

DirectedExcess ExcessAt(const PublicWeights& base, const PartDirection& direction,
                        const ShiftExcess& kernel, double scale) {
  std::array<double, kBlockTokens> shift;
  DirectedLanes lanes;
  for (std::size_t begin = 0; begin < base.size(); begin += kBlockTokens) {
    const std::size_t count = std::min(kBlockTokens, base.size() - begin);
    direction.Fill(begin, count, scale, shift.data());
    kernel.Add(base.least_rest() + begin, shift.data(), count, lanes);
  }
  return kernel.Excess(lanes, base.total());
}

double Mean(const double (&lanes)[kLanes], double total) {
  return std::accumulate(lanes, lanes + kLanes, 0.0) / total;
}

double Largest(const double (&lanes)[kLanes]) { return *std::max_element(lanes, lanes + kLanes); }

// Both ratios at order infinity are explicit in the scale: forward s t, backward -s t / (1 + s t).
double ScaleByRatios(const MomentLanes& measured, double target) {
  return std::min({1.0, target / Largest(measured.steepest_rise),
                   target / (Largest(measured.steepest_fall) * (1 + target))});
}

double ScaleByBracket(const PublicWeights& base, const PartDirection& direction,
                      const MomentLanes& measured, const ShiftExcess& kernel, double target) {
  constexpr int kEvaluations = 10;
  const double order = kernel.order().value();
  const double quadratic = Mean(measured.all[0], base.total());
  // From order 2 upwards g(t) >= (order - 1) t^2 on t >= -1: no scale above it is feasible.
  const double upper =
      order >= 2 ? std::min(1.0, std::sqrt(target / ((order - 1) * quadratic))) : 1.0;
  return divergence::LargestFeasible(upper, target, kEvaluations, [&](double scale) {
    return ExcessAt(base, direction, kernel, scale).larger();
  });
}

}  // namespace

// The bounds on both excesses as polynomials in the scale, without their factor s^2.
class ScaleSolver::Bound {
 public:
  Bound(const ScaleSolver& solver, const MomentLanes& measured, double total);

  // Bounds the larger excess at a scale in [0, 1].
  double operator()(double scale) const {
    const double square = scale * scale;
    const double forward = Polynomial(forward_.data(), solver_.degree_ - 1, scale);
    const double falls = Polynomial(falls_.data(), solver_.fall_moments_ + 1, scale);
    const double rises = std::min(rises_[0], Polynomial(rises_.data(), 3, scale));
    return square * std::max(forward, falls + rises);
  }

 private:
  static double Polynomial(const double* coefficients, int count, double x) {
    double sum = 0;
    for (int i = count - 1; i >= 0; --i) sum = sum * x + coefficients[i];
    return sum;
  }

  const ScaleSolver& solver_;
  std::array<double, kLargestSummedOrder> forward_{};
  std::array<double, kMostFallMoments + 1> falls_{};  // the last: all that is beyond
  std::array<double, 3> rises_{};
};

ScaleSolver::Bound::Bound(const ScaleSolver& solver, const MomentLanes& measured, double total)
    : solver_(solver) {
  for (int n = 2; n <= solver.degree_; ++n) {
    forward_[n - 2] = solver.binomials_[n] * Mean(measured.all[n - 2], total);
  }
  double last = 0;
  for (int i = 0; i < solver.fall_moments_; ++i) {
    last = Mean(measured.falls[i], total);
    falls_[i] = solver.coefficients_[i + 2] * last;
    // The moments of the tokens that rise are what is left; they alternate in the series.
    const double sign = i % 2 == 0 ? 1 : -1;
    if (i < 3) {
      rises_[i] = solver.coefficients_[i + 2] * (sign * Mean(measured.all[i], total) - last);
    }
  }
  const double steepest = Largest(measured.steepest_fall);
  double power = 1;  // steepest^(n - m)
  double tail = 0;
  double term = 0;
  for (int n = solver.fall_moments_ + 2; n <= kLastTerm; ++n) {
    power *= steepest;
    term = solver.coefficients_[n] * power;
    tail += term;
  }
  // From kLastTerm on, each term is at most `ratio` of the one before.
  const double order = solver.kernel_.order().value();
  const double ratio = steepest * (order - 1 + kLastTerm) / (kLastTerm + 1);
  tail += ratio < 1 ? term * ratio / (1 - ratio) : std::numeric_limits<double>::infinity();
  falls_[solver.fall_moments_] = last * tail;
}

ScaleSolver::ScaleSolver(divergence::RenyiOrder order) : kernel_(order) {
  const double a = order.value();
  if (!(a >= 2 && a <= kLargestSummedOrder && a == std::floor(a))) return;
  degree_ = static_cast<int>(a);
  moments_ = UpToWholeGroups(std::max(degree_, kLeastDegree) - 1);
  fall_moments_ = degree_ == 2 ? kMomentsAtATime : kMostFallMoments;
  double binomial = 1;
  for (int n = 0; n <= degree_; ++n) {
    binomials_[n] = binomial;
    binomial = binomial * (a - n) / (n + 1);
  }
  double coefficient = 1;
  for (int n = 0; n <= kLastTerm; ++n) {
    coefficients_[n] = coefficient;
    coefficient = coefficient * (a - 1 + n) / (n + 1);
  }
}

ScaledDirection ScaleSolver::Solve(const PublicWeights& base, std::span<const double> public_pmf,
                                   std::span<const double> first, std::span<const double> second,
                                   double target_excess) const {
  const PartDirection unchecked(base, first, second);
  const MomentLanes measured = unchecked.Measure(base, moments_, fall_moments_);
  const PartDirection direction = unchecked.Checked(base, public_pmf, measured);
  // Nothing to solve for, but the same work as otherwise.
  const bool is_null = direction.is_null() || !(target_excess > 0);
  const double target = is_null ? 1.0 : target_excess;
  double scale = 0;
  if (kernel_.order().is_infinite()) {
    scale = ScaleByRatios(measured, target);
  } else if (degree_ > 0 && base.floor_count() >= 2) {
    constexpr int kHalvings = 52;
    const Bound bound(*this, measured, base.total());
    scale = divergence::LargestByHalving(1, kHalvings,
                                         [&](double tried) { return bound(tried) <= target; });
  } else {
    scale = ScaleByBracket(base, direction, measured, kernel_, target);
  }
  return {direction, is_null ? 0 : scale};
}

}  // namespace submix::mechanism
