#include "submix/divergence/divergence_kernel.h"

#include <algorithm>
#include <cmath>

#include "submix/base/check.h"
#include "submix/divergence/pmf.h"

namespace submix::divergence {

DivergenceKernel::DivergenceKernel(RenyiOrder order)
    : order_(order),
      value_(order.value()),
      excess_(value_ - 1),
      g_at_minus_1_(order.is_one() ? 1 : excess_),
      // Within it the terms fall fast and the first one dominates, whatever the sign of t.
      series_radius_(std::min(0.05, 0.5 / value_)) {
  SUBMIX_CHECK(!order.is_infinite(), "there is no kernel at order infinity");
  double coefficient = (order.is_one() ? 1 : value_ * excess_) / 2;
  for (int n = 2; n < kSeriesTerms + 2; ++n) {
    coefficients_[n - 2] = coefficient;
    coefficient *= (value_ - n) / (n + 1);
  }
}

double DivergenceKernel::Series(double t) const {
  double sum = 0;
  for (int i = kSeriesTerms - 1; i >= 0; --i) sum = sum * t + coefficients_[i];
  return sum * t * t;
}

double DivergenceKernel::ClosedForm(double t, double ratio, double log_ratio) const {
  double g = 0;
  if (order_.is_one()) {
    g = ratio * log_ratio - t;
  } else if (value_ >= 0.5) {
    g = ratio * std::expm1(excess_ * log_ratio) - excess_ * t;
  } else {
    g = std::expm1(value_ * log_ratio) - value_ * t;  // the one that cancels less near order 0
  }
  // The sign is known; rounding must not turn it. NaN stays.
  const bool wrong_sign = value_ >= 1 ? g < 0 : g > 0;
  return wrong_sign ? 0 : g;
}

double DivergenceKernel::G(double t) const {
  if (order_ == RenyiOrder::Two()) return t >= -1 ? t * t : std::nan("");
  if (std::abs(t) <= series_radius_) return Series(t);
  if (t == -1) return g_at_minus_1_;
  if (t == kInfinity) return value_ >= 1 ? kInfinity : -kInfinity;
  return ClosedForm(t, 1 + t, std::log1p(t));
}

double DivergenceKernel::PairTerm(double numerator, double denominator, double difference) const {
  if (denominator == 0 && numerator > 0) return value_ >= 1 ? kInfinity : -value_ * numerator;
  if (numerator == 0) return denominator * g_at_minus_1_;
  const double t = difference / denominator;
  if (std::abs(t) <= series_radius_) return denominator * Series(t);
  if (t >= -0.5) return denominator * G(t);
  // Near t = -1 the ratio has digits that 1 + t has lost.
  const double ratio = numerator / denominator;
  return denominator * ClosedForm(t, ratio, std::log(ratio));
}

double DivergenceKernel::SteadyPairTerm(double numerator, double denominator,
                                        double difference) const {
  const double t = difference / denominator;
  const bool is_near_minus_1 = !(t >= -0.5);
  const double series = Series(t);
  const double log_ratio = std::log(numerator / denominator);
  const double log_one_plus_t = std::log1p(t);
  const double closed = ClosedForm(t, is_near_minus_1 ? numerator / denominator : 1 + t,
                                   is_near_minus_1 ? log_ratio : log_one_plus_t);
  double g = order_ == RenyiOrder::Two() && !is_near_minus_1 ? t * t : closed;
  g = std::abs(t) <= series_radius_ ? series : g;
  g = t == kInfinity ? (value_ >= 1 ? kInfinity : -kInfinity) : g;
  const double term = denominator * (numerator == 0 ? g_at_minus_1_ : g);
  const double without_support = value_ >= 1 ? kInfinity : -value_ * numerator;
  return denominator == 0 && numerator > 0 ? without_support : term;
}

double DivergenceKernel::LanesExpectation(const double* denominators,
                                          const double* differences) const {
  std::array<double, kLanes> t;
  bool small = true;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    t[lane] = differences[lane] / denominators[lane];
    small &= std::abs(t[lane]) <= series_radius_;
  }
  double total = 0;
  if (!small) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) total += denominators[lane] * G(t[lane]);
    return total;
  }
  std::array<double, kLanes> sums{};
  for (int i = kSeriesTerms - 1; i >= 0; --i) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] = sums[lane] * t[lane] + coefficients_[i];
    }
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    total += denominators[lane] * (sums[lane] * t[lane] * t[lane]);
  }
  return total;
}

double DivergenceKernel::Expectation(std::span<const double> denominators,
                                     std::span<const double> differences) const {
  SUBMIX_CHECK(denominators.size() == differences.size(), "one difference for each denominator");
  CompensatedSum sum;
  std::size_t x = 0;
  for (; x + kLanes <= denominators.size(); x += kLanes) {
    sum.Add(LanesExpectation(denominators.data() + x, differences.data() + x));
  }
  for (; x < denominators.size(); ++x) {
    sum.Add(denominators[x] * G(differences[x] / denominators[x]));
  }
  return sum.value();
}

double DivergenceKernel::DivergenceFromExpectation(double expectation) const {
  const double divergence = order_.is_one() ? expectation : std::log1p(expectation) / excess_;
  if (std::isnan(divergence)) return kInfinity;
  return std::max(divergence, 0.0);
}

}  // namespace submix::divergence
