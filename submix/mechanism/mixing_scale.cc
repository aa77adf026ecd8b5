#include "submix/mechanism/mixing_scale.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "submix/divergence/mixing_weight.h"
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
  return kernel.Total(lanes);
}

// A point of G, where the backward excess at scale s is s^2 G(s).
struct CurvePoint {
  double scale;
  double value;
};

// The largest s in [left, right] with s^2 times the chord of G at most `target`; `left` if none.
// Requires: a feasible left end.
double ScaleUnderChord(CurvePoint left, CurvePoint right, double target) {
  const double slope = (right.value - left.value) / (right.scale - left.scale);
  // s^2 chord(s) need not be monotone where G falls, so the search is for s below which all hold;
  // a chord that falls is replaced by its left, larger end.
  const double rising = std::max(0.0, slope);
  double feasible = left.scale;
  double width = right.scale - left.scale;
  constexpr int kHalvings = 50;
  for (int i = 0; i < kHalvings; ++i) {
    width /= 2;
    const double s = feasible + width;
    const double bound = s * s * (left.value + rising * (s - left.scale));
    feasible = bound <= target ? s : feasible;
  }
  return feasible;
}

// target_sum: in the units of ShiftExcess::Total.
double LargestScaleByChords(const PartDirection& direction, const ShiftExcess& kernel,
                            double target_sum) {
  // At scale 1 the forward sum is also G(0).
  const DirectedExcess whole = ExcessAt(direction, kernel, 1);
  const double forward_limit = std::min(1.0, std::sqrt(target_sum / whole.forward));
  const CurvePoint end{1, whole.backward};
  const double first =
      whole.larger() <= target_sum ? 1.0 : ScaleUnderChord({0, whole.forward}, end, target_sum);
  // Below 1 for a chord of positive length; above 0 for a quotient that is finite.
  const double inner = std::clamp(first, 1e-9, 0.999);
  const double curve = ExcessAt(direction, kernel, inner).backward / (inner * inner);
  const double second = ScaleUnderChord({inner, curve}, end, target_sum);
  const double best = first >= inner ? std::max(first, second) : first;
  return std::min(forward_limit, best);
}

}  // namespace

double LargestScale(const PartDirection& direction, const ShiftExcess& kernel,
                    double target_excess) {
  const double target_sum = target_excess * direction.base().total();
  double scale = 0;
  if (kernel.is_quadratic() && direction.base().floor_count() >= 2) {
    scale = LargestScaleByChords(direction, kernel, std::max(0.0, target_sum));
  } else {
    scale = divergence::LargestFeasible(
        1.0, target_sum, [&](double s) { return ExcessAt(direction, kernel, s).larger(); });
  }
  return direction.is_null() || !(target_excess > 0) ? 0 : scale;
}

}  // namespace submix::mechanism
