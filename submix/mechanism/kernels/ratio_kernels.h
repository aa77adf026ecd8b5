// The inner loops of the mechanisms that work on log ratios of a part to the public model: nothing
// but arithmetic on arrays, in a form that compilers vectorise, the same bits on every processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace submix::mechanism {

// A part's ratio is kept within [low, high]. Values that are no number, or negative, count as low.
struct RatioWindow {
  double low = 1;
  double high = 1;
};

// products *= clamp((first + second) * inverse, window).
void MultiplyRatios(const double* first, const double* second, const double* inverse,
                    RatioWindow window, std::size_t count, double* products);

// out = log(clamp((first + second) * inverse, window)), to 2^-50 relative.
// Requires: window within [2^-1000, 2^1000].
void LogRatios(const double* first, const double* second, const double* inverse, RatioWindow window,
               std::size_t count, double* out);

// sums += log(products), to 2^-50 relative, and products = 1.
// Requires: products within [2^-1000, 2^1000].
void TakeLogs(double* products, std::size_t count, double* sums);

// sums += factor * values.
void AddScaled(const double* values, double factor, std::size_t count, double* sums);

// What values do under a measure. `least` and `most` start at 0: the public model's place.
struct WeightedMoments {
  double least = 0;
  double most = 0;
  double sum = 0;      // of measure * value
  double squares = 0;  // of measure * value^2
};

// Takes in one block.
void AddMoments(const double* values, const double* measure, std::size_t count,
                WeightedMoments& moments);

// weights = floor(bases * exp(factor * sums)); returns their sum. Relative error of the value
// before the floor: below 2^-47 for |factor * sums| <= 8. Requires: |factor * sums| <= 700, results
// below 2^62.
std::uint64_t FloorOfExponentials(const double* bases, const double* sums, double factor,
                                  std::size_t count, std::uint64_t* weights);

}  // namespace submix::mechanism
