// The f-divergence behind the Rényi divergence, in the form that does not cancel (Theorem 2;
// numbers: counterexample_test.cc): for pmfs p and q and t = (p - q) / q, sum q t = 0, so
//     D_a(p || q) = log1p(sum q g(t)) / (a - 1),   g(t) = (1 + t)^a - 1 - a t,   a = the order.
// All terms have one sign, so nearly equal pmfs lose no digits.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "submix/divergence/renyi_order.h"

namespace submix::divergence {

// Immutable; thread-safe. For finite orders: at order infinity there is no g; use log1p(max t).
class DivergenceKernel {
 public:
  // Requires: a finite order.
  explicit DivergenceKernel(RenyiOrder order);

  RenyiOrder order() const { return order_; }

  // g(t) for t >= -1; at order 1 the limit of g / (order - 1): (1 + t) log(1 + t) - t. The sign is
  // exact: g >= 0 from order 1 upwards, <= 0 below. NaN for NaN and for t < -1; overflows to
  // infinity. Relative error below 1e-13 for orders up to 512 (below order 1 it grows as t nears
  // -1; PairTerm keeps its digits there).
  double G(double t) const;

  // denominator * g(numerator / denominator - 1). `difference` is numerator - denominator, given by
  // the caller because it may know it exactly. Zero denominator: the limit, which from order 1
  // upwards is infinity for a positive numerator. Requires: numerator, denominator >= 0.
  double PairTerm(double numerator, double denominator, double difference) const;

  // The same, bit for bit, with the same operations whatever the arguments: for charges, since time
  // must not tell of them.
  double SteadyPairTerm(double numerator, double denominator, double difference) const;

  // E = sum over x of denominators[x] * g(differences[x] / denominators[x]): E(den) of Theorem 2
  // with differences = d. Vectorised where all ratios d / den nearby are small. Requires: equal
  // sizes, denominators > 0, differences >= -denominators.
  double Expectation(std::span<const double> denominators,
                     std::span<const double> differences) const;

  // From E = sum q g to the divergence in nats: log1p(E) / (order - 1); at order 1 E itself. Never
  // negative; NaN becomes infinity, which no budget can pay.
  double DivergenceFromExpectation(double expectation) const;

 private:
  // Enough for 1e-16 within the series' radius.
  static constexpr int kSeriesTerms = 12;

  // Sum over n >= 2 of binomial(order, n) t^n, for small t.
  double Series(double t) const;
  // Expectation over one run of lanes.
  static constexpr std::size_t kLanes = 8;
  double LanesExpectation(const double* denominators, const double* differences) const;
  // g away from t = 0, from the ratio 1 + t and its logarithm.
  double ClosedForm(double t, double ratio, double log_ratio) const;

  RenyiOrder order_;
  double value_;   // of the order
  double excess_;  // order - 1; exact near 1
  double g_at_minus_1_;
  double series_radius_;
  std::array<double, kSeriesTerms> coefficients_{};  // of t^2, t^3, …
};

}  // namespace submix::divergence
