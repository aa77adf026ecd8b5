// Sums whose terms do not fit a double, by their logarithms; and small functions that would cancel.
#pragma once

#include <limits>

namespace submix::accounting {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The logarithm of a sum of positive terms that are given as logarithms. -infinity is a term of
// zero; NaN stays. Real is double or long double. Value; one thread at a time.
template <typename Real>
class LogSumOf {
 public:
  void Add(Real log_term);
  Real value() const;

 private:
  Real largest_ = -kInfinity;
  Real scaled_sum_ = 0;  // of the terms, divided by the largest
};
using LogSum = LogSumOf<double>;

// log(e^x - 1), x >= 0.
double LogExpm1(double x);
long double LogExpm1(long double x);

// log(1 - e^x), x <= 0.
double Log1mExp(double x);

// e^x - 1 - x, without cancellation near 0. Never negative.
double ExpMinusLinear(double x);

// log(erfc(x)), also where erfc underflows; as good as 1e-13, relative or absolute.
double LogErfc(double x);

// A privacy cost as it may be charged: NaN becomes infinity, rounding below zero becomes zero.
double CostOrInfinity(double nats);

// From log(A - 1) to log(A) / (order - 1), where A = sum of q (p/q)^order: Rényi divergence without
// loss of digits near A = 1 and without overflow. Requires: order > 1.
double RdpFromLogExcess(double log_excess, double order);

}  // namespace submix::accounting
