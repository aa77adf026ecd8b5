// Rényi divergence of Gaussian noise: D_a(N(0, s^2) || N(d, s^2)) = a (d/s)^2 / 2 (Mironov 2017,
// Proposition 7), and rho-zero-concentrated differential privacy, which means at most a * rho nats
// at every order a > 1 (Bun and Steinke 2016).
#pragma once

#include "submix/base/status.h"
#include "submix/divergence/renyi_order.h"

namespace submix::accounting {

// A query with L2 sensitivity d and noise of standard deviation s on every coordinate: in nats, at
// any order; exact, the same in both directions. sensitivity_over_scale = d / s. Infinity at order
// infinity unless it is 0. NaN or a negative argument gives infinity.
double GaussianRdp(double sensitivity_over_scale, divergence::RenyiOrder order);

// The least delta that the improved conversion (rdp_conversion.h) gives over all real orders above
// 1: they minimise delta = exp((a-1) (a rho - epsilon) + a log(1 - 1/a)) / (a - 1), where the
// derivative (2a - 1) rho - epsilon + log(1 - 1/a) is 0. Any order gives a valid delta, so that
// rounding cannot make the result unsound. Errors: kInvalidArgument unless both are >= 0.
base::StatusOr<double> DeltaForZcdp(double rho, double epsilon);

// The least epsilon whose DeltaForZcdp is at most `delta`, to 1e-12. Errors: kInvalidArgument
// unless rho >= 0 and finite, 0 < delta < 1.
base::StatusOr<double> EpsilonForZcdp(double rho, double delta);

}  // namespace submix::accounting
