#include "submix/accounting/gaussian_rdp.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "submix/accounting/bisection.h"
#include "submix/accounting/log_space.h"
#include "submix/base/number_text.h"

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;

// log of the delta that order a gives.
double LogDelta(double rho, double epsilon, double a) {
  return (a - 1) * (a * rho - epsilon) + a * std::log1p(-1 / a) - std::log(a - 1);
}

double LeastDelta(double rho, double epsilon) {
  if (rho == 0) return 0;
  // The derivative grows with a, from -infinity at 1 to infinity.
  const auto falls = [&](double a) {
    return (2 * a - 1) * rho - epsilon + std::log1p(-1 / a) <= 0;
  };
  return std::min(1.0, std::exp(LogDelta(rho, epsilon, FindBoundary(1, 2, falls).fails)));
}

}  // namespace

double GaussianRdp(double sensitivity_over_scale, RenyiOrder order) {
  if (!(sensitivity_over_scale >= 0)) return kInfinity;
  const double rho = sensitivity_over_scale * sensitivity_over_scale / 2;
  return rho == 0 ? 0 : order.value() * rho;
}

base::StatusOr<double> DeltaForZcdp(double rho, double epsilon) {
  if (!(rho >= 0) || !(epsilon >= 0)) {
    return base::InvalidArgumentError("zCDP: expected rho and epsilon >= 0, found " +
                                      base::NumberText(rho) + " and " + base::NumberText(epsilon));
  }
  return LeastDelta(rho, epsilon);
}

base::StatusOr<double> EpsilonForZcdp(double rho, double delta) {
  if (!(rho >= 0 && rho < kInfinity) || !(delta > 0 && delta < 1)) {
    return base::InvalidArgumentError("zCDP: expected rho >= 0 and delta in (0, 1), found " +
                                      base::NumberText(rho) + " and " + base::NumberText(delta));
  }
  if (LeastDelta(rho, 0) <= delta) return 0.0;
  return FindBoundary(0, 1, [&](double epsilon) { return LeastDelta(rho, epsilon) > delta; }).fails;
}

}  // namespace submix::accounting
