#include "submix/eval/audits/welch.h"

#include <cmath>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>

namespace submix::eval {
namespace {

struct Moments {
  double mean = 0;
  double variance_of_mean = 0;
  double degrees = 0;
};

Moments MomentsOf(std::span<const double> sample) {
  const auto size = static_cast<double>(sample.size());
  const double mean = std::accumulate(sample.begin(), sample.end(), 0.0) / size;
  double squares = 0;
  for (const double value : sample) squares += (value - mean) * (value - mean);
  return {mean, squares / (size - 1) / size, size - 1};
}

}  // namespace

base::StatusOr<WelchResult> WelchTest(std::span<const double> first,
                                      std::span<const double> second) {
  if (first.size() < 2 || second.size() < 2) {
    return base::InvalidArgumentError("Welch's test: expected at least 2 values in each sample");
  }
  const Moments a = MomentsOf(first);
  const Moments b = MomentsOf(second);
  const double variance = a.variance_of_mean + b.variance_of_mean;
  if (!(variance > 0)) {
    return base::InvalidArgumentError("Welch's test: expected values that are not all equal");
  }
  WelchResult result;
  result.difference = b.mean - a.mean;
  result.standard_error = std::sqrt(variance);
  result.t = result.difference / result.standard_error;
  result.degrees_of_freedom = variance * variance /
                              (a.variance_of_mean * a.variance_of_mean / a.degrees +
                               b.variance_of_mean * b.variance_of_mean / b.degrees);
  const boost::math::students_t student(result.degrees_of_freedom);
  result.p_value = 2 * boost::math::cdf(student, -std::abs(result.t));
  result.detectable_difference =
      (boost::math::quantile(student, 0.975) + boost::math::quantile(student, 0.8)) *
      result.standard_error;
  return result;
}

}  // namespace submix::eval
