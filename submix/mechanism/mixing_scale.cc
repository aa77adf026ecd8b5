#include "submix/mechanism/mixing_scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "submix/mechanism/log_bracket.h"
#include "submix/mechanism/weight_kernels.h"

namespace submix::mechanism {
namespace {

DirectedExcess ExcessAt(const PartDirection& direction, const ShiftExcess& kernel, double scale) {
  const PublicWeights& base = direction.base();
  std::array<double, kBlockTokens> shift;
  DirectedLanes lanes;
  for (std::size_t begin = 0; begin < base.size(); begin += kBlockTokens) {
    const std::size_t count = std::min(kBlockTokens, base.size() - begin);
    direction.Fill(begin, count, scale, shift.data());
    kernel.Add(base.least_rest() + begin, shift.data(), count, lanes);
  }
  return kernel.Excess(lanes, base.total());
}

// G at 0, 1/4 and 1, where the backward excess at scale s is s^2 G(s); G(0) gives the forward one.
struct Curve {
  double at_zero;
  double at_quarter;
  double at_one;

  // Bounds the larger excess at a scale: a chord of a convex function lies above it.
  double ExcessBound(double scale) const {
    const double chord = scale <= 0.25 ? at_zero + (at_quarter - at_zero) * (scale / 0.25)
                                       : at_one + (at_quarter - at_one) * ((1 - scale) / 0.75);
    return scale * scale * std::max(at_zero, chord);
  }
};

Curve CurveOf(const PartDirection& direction) {
  const PublicWeights& base = direction.base();
  std::array<double, kBlockTokens> shift;
  CurveLanes lanes;
  for (std::size_t begin = 0; begin < base.size(); begin += kBlockTokens) {
    const std::size_t count = std::min(kBlockTokens, base.size() - begin);
    direction.Fill(begin, count, 1, shift.data());
    AddCurve(base.least_rest() + begin, shift.data(), PadToLanes(count), lanes);
  }
  const auto mean = [&](const double* sums) {
    return std::accumulate(sums, sums + kLanes, 0.0) / base.total();
  };
  return {mean(lanes.at_zero), mean(lanes.at_quarter), mean(lanes.at_one)};
}

double LargestScaleByChords(const PartDirection& direction, double target) {
  const Curve curve = CurveOf(direction);
  constexpr int kHalvings = 52;
  double feasible = 0;
  double width = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double scale = feasible + width;
    const bool fits = scale <= 1 && curve.ExcessBound(scale) <= target;
    feasible = fits ? scale : feasible;
    width /= 2;
  }
  return feasible;
}

// Both ratios at order infinity are explicit in the scale: forward s t, backward -s t / (1 + s t),
// t = direction / den.
double LargestScaleByRatios(const PartDirection& direction, const ShiftExcess& kernel,
                            double target) {
  const DirectedExcess whole = ExcessAt(direction, kernel, 1);
  const double lowest = whole.backward / (1 + whole.backward);  // -min t
  return std::min({1.0, target / whole.forward, target / (lowest * (1 + target))});
}

// No scale above it is feasible.
double UpperLimit(const PartDirection& direction, double order, double target) {
  const ShiftExcess quadratic(divergence::RenyiOrder::Two());
  const double sum = ExcessAt(direction, quadratic, 1).forward;
  // From order 2 upwards g(t) >= (order - 1) t^2 on t >= -1.
  return order >= 2 ? std::min(1.0, std::sqrt(target / ((order - 1) * sum))) : 1.0;
}

double LargestScaleByBracket(const PartDirection& direction, const ShiftExcess& kernel,
                             double target) {
  constexpr int kEvaluations = 10;
  const double upper = UpperLimit(direction, kernel.order().value(), target);
  return LargestScaleInLogBracket(upper, target, kEvaluations, [&](double scale) {
    return ExcessAt(direction, kernel, scale).larger();
  });
}

}  // namespace

double LargestScale(const PartDirection& direction, const ShiftExcess& kernel,
                    double target_excess) {
  // Nothing to solve for, but the same work as otherwise.
  const bool is_null = direction.is_null() || !(target_excess > 0);
  const double target = is_null ? 1.0 : target_excess;
  double scale = 0;
  if (kernel.order().is_infinite()) {
    scale = LargestScaleByRatios(direction, kernel, target);
  } else if (kernel.is_quadratic() && direction.base().floor_count() >= 2) {
    scale = LargestScaleByChords(direction, target);
  } else {
    scale = LargestScaleByBracket(direction, kernel, target);
  }
  return is_null ? 0 : scale;
}

}  // namespace submix::mechanism
