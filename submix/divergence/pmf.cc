#include "submix/divergence/pmf.h"

#include <cmath>

namespace submix::divergence {

void CompensatedSum::Add(double term) {
  const double next = sum_ + term;
  const bool sum_is_larger = std::abs(sum_) >= std::abs(term);
  compensation_ += sum_is_larger ? (sum_ - next) + term : (term - next) + sum_;
  sum_ = next;
}

double CompensatedSum::value() const {
  // Beyond the finite numbers the compensation is infinity - infinity.
  return std::isfinite(sum_) ? sum_ + compensation_ : sum_;
}

double Sum(std::span<const double> values) {
  CompensatedSum sum;
  for (const double value : values) sum.Add(value);
  return sum.value();
}

}  // namespace submix::divergence
