#include "submix/accounting/calculators/laplace_rdp.h"

#include <algorithm>
#include <cmath>

#include "submix/accounting/log_space.h"

namespace submix::accounting {
namespace {

// Above it e^((a-1) r) may overflow, and the sum is far from 1.
constexpr double kLargeExponent = 30;

}  // namespace

double LaplaceRdp(double l1_sensitivity_over_scale, divergence::RenyiOrder order) {
  const double r = l1_sensitivity_over_scale;
  if (!(r >= 0)) return kInfinity;
  const double a = std::max(order.value(), 1.0);
  if (order.is_infinite() || std::isinf(r)) return r;
  if (a == 1) return ExpMinusLinear(-r);
  if ((a - 1) * r > kLargeExponent) {
    // e^((a-1) r) taken out; expm1 keeps what is left exact.
    return CostOrInfinity(r + std::log1p((a - 1) * std::expm1((1 - 2 * a) * r) / (2 * a - 1)) /
                                  (a - 1));
  }
  // The sum less 1, where the parts linear in r cancel exactly and nothing negative is left.
  const double excess =
      (a * ExpMinusLinear((a - 1) * r) + (a - 1) * ExpMinusLinear(-a * r)) / (2 * a - 1);
  return std::log1p(excess) / (a - 1);
}

}  // namespace submix::accounting
