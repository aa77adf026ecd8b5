#include "submix/accounting/log_space.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace submix::accounting {
namespace {

// Above it erfc has few digits left, and the asymptotic series below has 1e-15.
constexpr double kErfcSeriesFrom = 20;
// Below it the series of e^x - 1 - x needs ten terms.
constexpr double kExpSeriesTo = 0.2;
// e^-40 changes no digit of what is 1 or more.
constexpr double kNoDigit = 40;

template <typename Real>
Real LogExpm1Of(Real x) {
  if (x > kNoDigit) return x;
  return x > 1 ? x + std::log1p(-std::exp(-x)) : std::log(std::expm1(x));
}

}  // namespace

template <typename Real>
void LogSumOf<Real>::Add(Real log_term) {
  if (log_term <= largest_) {
    if (log_term - largest_ > -kNoDigit) scaled_sum_ += std::exp(log_term - largest_);
    return;
  }
  scaled_sum_ = std::isinf(log_term) ? 1 : scaled_sum_ * std::exp(largest_ - log_term) + 1;
  largest_ = log_term;
}

template <typename Real>
Real LogSumOf<Real>::value() const {
  return largest_ == -kInfinity ? largest_ : largest_ + std::log(scaled_sum_);
}

template class LogSumOf<double>;
template class LogSumOf<long double>;

double LogExpm1(double x) { return LogExpm1Of(x); }
long double LogExpm1(long double x) { return LogExpm1Of(x); }

double Log1mExp(double x) { return x < -1 ? std::log1p(-std::exp(x)) : std::log(-std::expm1(x)); }

double ExpMinusLinear(double x) {
  if (!(std::abs(x) < kExpSeriesTo)) return std::expm1(x) - x;
  double sum = 0;
  for (int n = 13; n >= 2; --n) sum = (sum * x + 1) / n;  // x^n / n! by Horner, without x^2 …
  return sum * x * x;
}

double LogErfc(double x) {
  if (!(x >= kErfcSeriesFrom)) return std::log(std::erfc(x));
  const double y = 1 / (2 * x * x);
  const double series = 1 - y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y * (1 - 9 * y))));
  return -x * x - std::log(x * std::sqrt(std::numbers::pi)) + std::log(series);
}

double CostOrInfinity(double nats) {
  if (std::isnan(nats)) return kInfinity;
  return std::max(nats, 0.0);
}

double RdpFromLogExcess(double log_excess, double order) {
  const double log_sum = log_excess < 0 ? std::log1p(std::exp(log_excess))
                                        : log_excess + std::log1p(std::exp(-log_excess));
  return CostOrInfinity(log_sum / (order - 1));
}

}  // namespace submix::accounting
