// How well a sample fits a law, as scores with known false-alarm rates.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace submix::base {

// Chi-square statistic of counts against probabilities, as a standard normal score (Wilson and
// Hilferty): above 5 with probability about 3e-7 if the law is right, the expected counts are not
// small (10 or more) and there are at least two categories.
inline double ChiSquareScore(std::span<const std::int64_t> counts,
                             std::span<const double> probabilities) {
  double total = 0;
  for (const std::int64_t count : counts) total += static_cast<double>(count);
  double chi_square = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = total * probabilities[i];
    const double difference = static_cast<double>(counts[i]) - expected;
    chi_square += difference * difference / expected;
  }
  const double freedom = static_cast<double>(counts.size()) - 1;
  const double variance = 2 / (9 * freedom);
  return (std::cbrt(chi_square / freedom) - (1 - variance)) / std::sqrt(variance);
}

// Kolmogorov and Smirnov's sqrt(n) sup |F_n - F|: above 2.8 with probability at most 2 exp(-2
// 2.8^2) = 3.1e-7 (Massart; for every law, also a discrete one).
inline double KolmogorovScore(std::vector<double> sample, const std::function<double(double)>& cdf,
                              const std::function<double(double)>& cdf_from_left) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double largest = 0;
  for (std::size_t begin = 0, end = 0; begin < sample.size(); begin = end) {
    while (end < sample.size() && sample[end] == sample[begin]) ++end;
    largest = std::max({largest, std::abs(static_cast<double>(end) / n - cdf(sample[begin])),
                        std::abs(static_cast<double>(begin) / n - cdf_from_left(sample[begin]))});
  }
  return std::sqrt(n) * largest;
}

}  // namespace submix::base
