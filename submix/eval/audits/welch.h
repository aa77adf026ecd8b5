// Welch's two-sided t-test: are the means of two samples different, whatever their variances? And
// its power: what difference would have been seen.
#pragma once

#include <span>

#include "submix/base/status.h"

namespace submix::eval {

struct WelchResult {
  double difference = 0;          // mean of the second sample less mean of the first
  double standard_error = 0;      // of the difference
  double t = 0;                   // difference / standard_error
  double degrees_of_freedom = 0;  // Welch and Satterthwaite's
  double p_value = 1;             // two-sided
  // The least true difference, either way, that this test finds with probability 80 % at a level of
  // 5 %: (t_0.975 + t_0.80) standard errors.
  double detectable_difference = 0;
};

// Errors: kInvalidArgument for fewer than two values in a sample, or for values that are all equal.
base::StatusOr<WelchResult> WelchTest(std::span<const double> first,
                                      std::span<const double> second);

}  // namespace submix::eval
