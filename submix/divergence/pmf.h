// Probability mass functions in double: what counts as one, and sums that keep their digits.
#pragma once

#include <span>

namespace submix::divergence {

// How far from 1 the sum of a checked pmf may be: far above what normalising 10^6 doubles leaves,
// far below anything that a wrong pmf would show.
inline constexpr double kPmfSumTolerance = 1e-9;

// Neumaier's compensated sum: the error does not grow with the number of terms.
class CompensatedSum {
 public:
  void Add(double term);
  // NaN or infinity among the terms give NaN or infinity.
  double value() const;

 private:
  double sum_ = 0;
  double compensation_ = 0;
};

// The compensated sum of all values.
double Sum(std::span<const double> values);

}  // namespace submix::divergence
