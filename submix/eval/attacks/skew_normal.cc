#include "submix/eval/attacks/skew_normal.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <boost/math/quadrature/exp_sinh.hpp>
#include <boost/math/special_functions/owens_t.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>

namespace submix::eval {
namespace {

using base::StatusOr;

constexpr double kLargestShape = 1000;
constexpr int kMaxRounds = 2000;

double Square(double x) { return x * x; }

// log of the standard normal density and distribution function.
double LogDensity(double z) { return -z * z / 2 - std::log(2 * std::numbers::pi) / 2; }
double LogNormalCdf(double z) {
  if (z > -30) return std::log(std::erfc(-z * std::numbers::sqrt2 / 2) / 2);
  const double s = 1 / (z * z);
  return LogDensity(z) - std::log(-z) + std::log1p(-s * (1 - 3 * s * (1 - 5 * s)));
}
double LogSkewDensity(double z, double shape) {
  return std::numbers::ln2 + LogDensity(z) + LogNormalCdf(shape * z);
}

// X = location + slope |T| + noise, T standard normal, noise of deviation `noise`: the same law,
// with shape slope / noise and scale sqrt(slope^2 + noise^2). |T| is what is not seen.
struct Mixture {
  double location = 0;
  double slope = 0;
  double noise = 1;

  SkewNormal Law() const { return {location, std::hypot(slope, noise), slope / noise}; }
};

// By the first three moments, with a skewness that a skew-normal law can have.
Mixture Start(std::span<const double> values) {
  const auto [mean, second, third, fourth] =
      boost::math::statistics::first_four_moments(values.begin(), values.end());
  const double deviation = std::sqrt(second);
  const double skewness = std::clamp(third / std::pow(deviation, 3), -0.9, 0.9);
  // Of skewness g: delta^2 (pi / 2) / (1 + ((4 - pi) / (2 |g|))^(2/3)). None is a saddle.
  const double size = std::max(std::abs(skewness), 0.02);
  const double ratio = std::cbrt(Square((4 - std::numbers::pi) / (2 * size)));
  const double delta = std::copysign(std::sqrt(std::numbers::pi / 2 / (1 + ratio)), skewness);
  const double scale = deviation / std::sqrt(1 - 2 * delta * delta / std::numbers::pi);
  return {mean - scale * delta * std::sqrt(2 / std::numbers::pi), scale * delta,
          scale * std::sqrt(1 - delta * delta)};
}

// One round of expectation and maximisation: |T| given each value is a normal cut off at zero, of
// which the first two moments are needed; then location and slope are a regression on it.
Mixture Improve(std::span<const double> values, const Mixture& old) {
  const double total = Square(old.slope) + Square(old.noise);
  const double deviation = old.noise / std::sqrt(total);
  double sum_t = 0;
  double sum_tt = 0;
  double sum_x = 0;
  double sum_xt = 0;
  double sum_xx = 0;
  for (const double value : values) {
    const double x = value - old.location;
    const double center = old.slope * x / total;
    const double z = center / deviation;
    const double t = center + deviation * std::exp(LogDensity(z) - LogNormalCdf(z));
    sum_t += t;
    sum_tt += Square(deviation) + center * t;
    sum_x += x;
    sum_xt += x * t;
    sum_xx += x * x;
  }
  const auto n = static_cast<double>(values.size());
  const double slope = (n * sum_xt - sum_x * sum_t) / (n * sum_tt - sum_t * sum_t);
  const double shift = (sum_x - slope * sum_t) / n;
  const double rest = sum_xx - 2 * shift * sum_x - 2 * slope * sum_xt + n * shift * shift +
                      2 * shift * slope * sum_t + slope * slope * sum_tt;
  const double least = std::abs(slope) / kLargestShape;
  return {old.location + shift, slope, std::max(std::sqrt(std::max(rest / n, 0.0)), least)};
}

// Two rounds, and a leap along where they lead (SQUAREM, Varadhan and Roland 2008), which is kept
// if the likelihood does not fall.
Mixture Leap(std::span<const double> values, const Mixture& old) {
  const Mixture once = Improve(values, old);
  const Mixture twice = Improve(values, once);
  const Mixture step = {once.location - old.location, once.slope - old.slope,
                        std::log(once.noise / old.noise)};
  const Mixture turn = {twice.location - once.location - step.location,
                        twice.slope - once.slope - step.slope,
                        std::log(twice.noise / once.noise) - step.noise};
  const double step_size =
      std::sqrt(Square(step.location) + Square(step.slope) + Square(step.noise));
  const double turn_size =
      std::sqrt(Square(turn.location) + Square(turn.slope) + Square(turn.noise));
  if (!(turn_size > 0)) return twice;
  const double length = std::max(1.0, step_size / turn_size);
  const Mixture leapt = {
      old.location + 2 * length * step.location + length * length * turn.location,
      old.slope + 2 * length * step.slope + length * length * turn.slope,
      old.noise * std::exp(2 * length * step.noise + length * length * turn.noise)};
  if (!(std::isfinite(leapt.noise) && leapt.noise > std::abs(leapt.slope) / kLargestShape)) {
    return twice;
  }
  const Mixture settled = Improve(values, leapt);
  return LogLikelihood(settled.Law(), values) >= LogLikelihood(twice.Law(), values) ? settled
                                                                                    : twice;
}

}  // namespace

StatusOr<SkewNormal> FitSkewNormal(std::span<const double> values) {
  if (values.size() < 8) {
    return base::InvalidArgumentError("a skew-normal law is fitted to at least 8 values, found " +
                                      std::to_string(values.size()));
  }
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  if (!(std::isfinite(*least) && std::isfinite(*largest) && *largest > *least)) {
    return base::InvalidArgumentError(
        "a skew-normal law is fitted to finite values that are not all the same");
  }
  Mixture mixture = Start(values);
  double likelihood = LogLikelihood(mixture.Law(), values);
  for (int round = 0; round < kMaxRounds; ++round) {
    mixture = Leap(values, mixture);
    const double now = LogLikelihood(mixture.Law(), values);
    if (now - likelihood < 1e-12 * std::abs(now)) break;
    likelihood = now;
  }
  return mixture.Law();
}

double LogLikelihood(const SkewNormal& law, std::span<const double> values) {
  double sum = -static_cast<double>(values.size()) * std::log(law.scale);
  for (const double value : values) {
    sum += LogSkewDensity((value - law.location) / law.scale, law.shape);
  }
  return sum;
}

// Phi(z) - 2 T(z, a), with Owen's T, where that does not cancel; else the integral of the density
// relative to its value at z, in logarithms.
double Log2Cdf(const SkewNormal& law, double x) {
  const double z = (x - law.location) / law.scale;
  const double direct =
      std::erfc(-z * std::numbers::sqrt2 / 2) / 2 - 2 * boost::math::owens_t(z, law.shape);
  if (direct > 1e-3 || z >= 0) return std::log2(direct);
  const double at = LogSkewDensity(z, law.shape);
  boost::math::quadrature::exp_sinh<double> integrator;
  const double relative = integrator.integrate(
      [&](double u) { return std::exp(LogSkewDensity(z - u, law.shape) - at); });
  return (at + std::log(relative)) / std::numbers::ln2;
}

double LargestDifference(const SkewNormal& law, std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  double largest = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double cdf = std::exp2(Log2Cdf(law, sorted[i]));
    largest =
        std::max({largest, cdf - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - cdf});
  }
  return largest;
}

}  // namespace submix::eval
