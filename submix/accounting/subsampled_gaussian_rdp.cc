#include "submix/accounting/subsampled_gaussian_rdp.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "submix/accounting/gaussian_rdp.h"
#include "submix/accounting/log_space.h"
#include "submix/accounting/poisson_amplification.h"
#include "submix/divergence/divergence_kernel.h"

namespace submix::accounting {
namespace {

using divergence::DivergenceKernel;
using divergence::RenyiOrder;

// Integer orders up to this are summed, others integrated.
constexpr double kLargestSummedOrder = 100000;
// Of the trapezoidal rule, in standard deviations. The integrand is analytic but for a branch at
// distance pi z from the real axis: the error falls as e^(-2 pi^2 z / step), here below e^-45.
constexpr double kStep = 0.4;
// Standard deviations beyond the outermost peaks, 0 and max(a, 2)/z (g grows as t^2 at first):
// e^-50 of the mass is left out.
constexpr double kTail = 10;
constexpr double kMostSteps = 1 << 20;

double IntegerOrder(double q, double z, int order) {
  return PoissonAmplifiedRdp([z = static_cast<long double>(z)](int k) { return k / (2 * z * z); },
                             q, order);
}

// Below this exponent nothing overflows.
constexpr double kLargestExponent = 600;

// log g(t) for the ratio 1 + t = 1 - q + q e^exponent.
double LogG(const DivergenceKernel& kernel, double q, double exponent) {
  const double a = kernel.order().value();
  if (exponent < kLargestExponent) {
    const double t = q * std::expm1(exponent);
    if (a * std::log1p(t) < kLargestExponent) return std::log(kernel.G(t));
  }
  // g / ratio = ratio^(a-1) - 1 - (a-1) (1 - 1 / ratio).
  const double log_ratio = exponent + std::log(q) + std::log1p((1 - q) / q * std::exp(-exponent));
  const double linear = -std::expm1(-log_ratio);
  if (kernel.order().is_one()) return log_ratio + std::log(log_ratio - linear);
  const double power = (a - 1) * log_ratio;
  if (power > kLargestExponent) return log_ratio + power;
  return log_ratio + std::log(std::expm1(power) - (a - 1) * linear);
}

// log of E g(t): the trapezoidal rule over the standard normal x / z.
double LogExpectation(double q, double z, RenyiOrder order, double step) {
  const DivergenceKernel kernel(order);
  LogSum sum;
  const auto last = static_cast<std::int64_t>((std::max(order.value(), 2.0) / z + kTail) / step);
  for (auto i = -static_cast<std::int64_t>(kTail / step); i <= last; ++i) {
    const double w = static_cast<double>(i) * step;
    sum.Add(LogG(kernel, q, w / z - 1 / (2 * z * z)) - w * w / 2);
  }
  return sum.value() + std::log(step / std::sqrt(2 * std::numbers::pi));
}

// log A = (a-1) D_a is convex in a: the chord between the integers beside it, from 0 at order 1.
double ChordBetweenIntegers(double q, double z, double a) {
  const double below = std::floor(a);
  const double low = below < 2 ? 0 : (below - 1) * IntegerOrder(q, z, static_cast<int>(below));
  const double high = below * IntegerOrder(q, z, static_cast<int>(below) + 1);
  return (low + (a - below) * (high - low)) / (a - 1);
}

}  // namespace

double SubsampledGaussianRdp(double sampling_probability, double noise_multiplier,
                             RenyiOrder order) {
  const double q = sampling_probability;
  const double z = noise_multiplier;
  if (!(q >= 0 && q <= 1) || !(z >= 0)) return kInfinity;
  if (q == 0) return 0;
  if (z == 0 || order.is_infinite()) return std::isinf(z) ? 0 : kInfinity;
  if (q == 1 || std::isinf(z)) return GaussianRdp(1 / z, order);
  const double a = std::max(order.value(), 1.0);
  if (a >= 2 && a <= kLargestSummedOrder && a == std::floor(a)) {
    return IntegerOrder(q, z, static_cast<int>(a));
  }
  const double step = kStep * std::min(1.0, z);
  if ((a / z + 2 * kTail) / step > kMostSteps) {
    if (a > 1 && a <= kLargestSummedOrder) return ChordBetweenIntegers(q, z, a);
    return GaussianRdp(1 / z, std::max(order, RenyiOrder::One()));  // what no sampling would cost
  }
  const double log_excess = LogExpectation(q, z, std::max(order, RenyiOrder::One()), step);
  return a == 1 ? CostOrInfinity(std::exp(log_excess)) : RdpFromLogExcess(log_excess, a);
}

}  // namespace submix::accounting
