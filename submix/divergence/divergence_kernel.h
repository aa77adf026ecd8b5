// The f-divergence behind the Rényi divergence, in the form that does not cancel (B1.9 of the
// mathematics page; proofs.md T2): for pmfs p and q and t = (p - q) / q, sum q t = 0, so
//     D_order(p || q) = log1p(sum q g(t)) / (order - 1),   g(t) = (1 + t)^order - 1 - order t.
#pragma once

#include <array>
#include <span>

#include "submix/divergence/renyi_order.h"

namespace submix::divergence {

// Immutable; thread-safe. For finite orders: at order infinity there is no g, use log1p(max t).
class DivergenceKernel {
 public:
  // Requires: a finite order.
  explicit DivergenceKernel(RenyiOrder order);

  RenyiOrder order() const { return order_; }

  // g(t) for t >= -1; at order 1 its limit g / (order - 1) = (1 + t) log(1 + t) - t. The sign is
  // exact: g >= 0 above order 1 and at it, <= 0 below. NaN for NaN and for t < -1; may overflow to
  // infinity. Relative error about 1e-14 (below order 1 absolute where t is close to -1; PairTerm
  // is relative there too).
  double G(double t) const;

  // denominator * g(numerator / denominator - 1), where difference = numerator - denominator is
  // given by the caller, who may know it exactly. Zero denominator: the limit, infinity from order
  // 1 upwards if the numerator is positive. Requires: numerator >= 0, denominator >= 0.
  double PairTerm(double numerator, double denominator, double difference) const;

  // E = sum over x of denominators[x] * g(differences[x] / denominators[x]): proofs.md T2's E(den)
  // with d = differences. At order 2 the vectorised sum of d^2 / den. Requires: equal sizes,
  // denominators > 0, differences >= -denominators.
  double Expectation(std::span<const double> denominators,
                     std::span<const double> differences) const;

  // From E = sum q g to the divergence in nats: log1p(E) / (order - 1); at order 1 E itself. Never
  // negative; NaN becomes infinity, which no budget can pay.
  double DivergenceFromExpectation(double expectation) const;

 private:
  static constexpr int kSeriesTerms = 20;

  // Sum over n >= 2 of binomial(order, n) t^n, for small t.
  double Series(double t) const;
  // g from t and log(1 + t), away from t = 0.
  double ClosedForm(double t, double log_ratio) const;
  // Rounding must not turn g's sign.
  double Clamp(double g) const;

  RenyiOrder order_;
  double series_radius_;
  std::array<double, kSeriesTerms> coefficients_{};  // of t^2, t^3, …
};

}  // namespace submix::divergence
