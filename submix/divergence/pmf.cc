#include "submix/divergence/pmf.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace submix::divergence {

base::Status CheckPmf(std::span<const double> pmf) {
  for (std::size_t x = 0; x < pmf.size(); ++x) {
    if (!(pmf[x] >= 0 && pmf[x] <= std::numeric_limits<double>::max())) {
      return base::InvalidArgumentError("pmf: expected finite probabilities >= 0; index " +
                                        std::to_string(x) + " of " + std::to_string(pmf.size()) +
                                        " is not");
    }
  }
  if (!(std::abs(Sum(pmf) - 1) <= kPmfSumTolerance)) {
    return base::InvalidArgumentError("pmf: expected " + std::to_string(pmf.size()) +
                                      " probabilities that sum to 1 within 1e-9; they do not");
  }
  return base::OkStatus();
}

double LogSumExp(std::span<const double> log_terms) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double term : log_terms) {
    if (std::isnan(term)) return term;
    largest = std::max(largest, term);
  }
  if (std::isinf(largest)) return largest;  // no terms, only zeros, or an infinite one
  CompensatedSum sum;
  for (const double term : log_terms) sum.Add(std::exp(term - largest));
  return largest + std::log(sum.value());
}

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
