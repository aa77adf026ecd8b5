// The skew-normal distribution, by which exposure is extrapolated beyond what was sampled (Carlini
// and others 2019, as in the privacy library of TensorFlow). Density 2/w phi(z) Phi(a z), z = (x -
// location) / w, scale w > 0, shape a.
#pragma once

#include <span>

#include "submix/base/status.h"

namespace submix::eval {

struct SkewNormal {
  double location = 0;
  double scale = 1;
  double shape = 0;
};

// By maximum likelihood; the shape stays within plus and minus 1000. Errors: kInvalidArgument for
// fewer than 8 values, values that are not finite, or values that are all the same.
base::StatusOr<SkewNormal> FitSkewNormal(std::span<const double> values);

// Sum of the log densities, nats.
double LogLikelihood(const SkewNormal& law, std::span<const double> values);

// log2 Pr[X <= x], to about ten digits, also where the probability itself would be zero.
double Log2Cdf(const SkewNormal& law, double x);

// The largest difference between the law's distribution function and that of the values
// (Kolmogorov and Smirnov's). Requires: not empty.
double LargestDifference(const SkewNormal& law, std::span<const double> values);

}  // namespace submix::eval
