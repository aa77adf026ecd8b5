#include "submix/mechanism/kernels/ratio_kernels.h"

#include <algorithm>
#include <bit>

#include "submix/base/instruction_sets.h"

namespace submix::mechanism {
namespace {

// Adding it leaves the nearest integer in the lower bits of the mantissa.
constexpr double kRounder = 0x1.8p52;
constexpr auto kRounderBits = std::bit_cast<std::int64_t>(kRounder);

// log(2) in two parts; n * kLogTwoHigh is exact for |n| < 2^11.
constexpr double kLogTwoHigh = 0x1.62e42fefa0000p-1;
constexpr double kLogTwoLow = 0x1.cf79abc9e3b3ap-40;

[[gnu::always_inline]] inline double Clamp(double value, RatioWindow window) {
  // In this order a NaN becomes low.
  const double raised = value > window.low ? value : window.low;
  return raised < window.high ? raised : window.high;
}

// x = 2^n m with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m - 1) / (m + 1)) by its series: the
// rest after f^19 is below 2^-55 of the first term.
[[gnu::always_inline]] inline double Log(double x) {
  constexpr auto kRootHalfBits = std::bit_cast<std::int64_t>(0x1.6a09e667f3bcdp-1);
  const auto bits = std::bit_cast<std::int64_t>(x);
  const std::int64_t exponent = (bits - kRootHalfBits) >> 52;
  const double m = std::bit_cast<double>(bits - (exponent << 52));
  const double n = std::bit_cast<double>(exponent + kRounderBits) - kRounder;
  const double f = (m - 1) / (m + 1);
  const double square = f * f;
  double sum = 1.0 / 19;
  sum = sum * square + 1.0 / 17;
  sum = sum * square + 1.0 / 15;
  sum = sum * square + 1.0 / 13;
  sum = sum * square + 1.0 / 11;
  sum = sum * square + 1.0 / 9;
  sum = sum * square + 1.0 / 7;
  sum = sum * square + 1.0 / 5;
  sum = sum * square + 1.0 / 3;
  const double twice = 2 * f;
  return n * kLogTwoHigh + (twice + (twice * square * sum + n * kLogTwoLow));
}

// 2^n times a polynomial on |r| <= log(2) / 2; Taylor to r^13, whose rest is below 2^-57.
[[gnu::always_inline]] inline double Exp(double x) {
  constexpr double kLog2E = 0x1.71547652b82fep0;
  const double shifted = x * kLog2E + kRounder;
  const double n = shifted - kRounder;
  const double r = (x - n * kLogTwoHigh) - n * kLogTwoLow;
  double sum = 1.0 / 6227020800.0;
  sum = sum * r + 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 0.5;
  sum = sum * r + 1.0;
  sum = sum * r + 1.0;
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(shifted) << 52;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) + exponent);
}

// Of a double in [0, 2^62): no processor before AVX-512 converts a vector of them, so the upper and
// the lower 31 bits go through the mantissa of doubles on their own.
[[gnu::always_inline]] inline std::uint64_t FloorToInteger(double value) {
  constexpr double kHalfWord = 0x1p31;
  const auto floor_below_2_to_51 = [](double x) {
    const double biased = x + kRounder;
    const double nearest = biased - kRounder;
    return nearest > x ? nearest - 1 : nearest;
  };
  const auto to_integer = [](double x) {
    return static_cast<std::uint64_t>(std::bit_cast<std::int64_t>(x + kRounder) - kRounderBits);
  };
  const double upper = floor_below_2_to_51(value * (1 / kHalfWord));
  const double lower = floor_below_2_to_51(value - upper * kHalfWord);
  return (to_integer(upper) << 31) + to_integer(lower);
}

}  // namespace

void MultiplyRatios(const double* first, const double* second, const double* inverse,
                    RatioWindow window, std::size_t count, double* products) {
  base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    for (std::size_t i = 0; i < count; ++i) {
      products[i] *= Clamp((first[i] + second[i]) * inverse[i], window);
    }
  });
}

void LogRatios(const double* first, const double* second, const double* inverse, RatioWindow window,
               std::size_t count, double* out) {
  base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = Log(Clamp((first[i] + second[i]) * inverse[i], window));
    }
  });
}

void TakeLogs(double* products, std::size_t count, double* sums) {
  base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    for (std::size_t i = 0; i < count; ++i) {
      sums[i] += Log(products[i]);
      products[i] = 1;
    }
  });
}

void AddScaled(const double* values, double factor, std::size_t count, double* sums) {
  base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    for (std::size_t i = 0; i < count; ++i) sums[i] += factor * values[i];
  });
}

void AddMoments(const double* values, const double* measure, std::size_t count,
                WeightedMoments& moments) {
  base::RunVectorised([=, &moments]() SUBMIX_VECTOR_LOOP {
    constexpr std::size_t kLanes = 8;
    double least[kLanes] = {};
    double most[kLanes] = {};
    double sums[kLanes] = {};
    double squares[kLanes] = {};
    const std::size_t whole = count / kLanes * kLanes;
    for (std::size_t i = 0; i < whole; i += kLanes) {
      for (std::size_t j = 0; j < kLanes; ++j) {
        const double value = values[i + j];
        const double weighted = measure[i + j] * value;
        least[j] = value < least[j] ? value : least[j];
        most[j] = value > most[j] ? value : most[j];
        sums[j] += weighted;
        squares[j] += weighted * value;
      }
    }
    for (std::size_t i = whole; i < count; ++i) {
      least[0] = std::min(least[0], values[i]);
      most[0] = std::max(most[0], values[i]);
      sums[0] += measure[i] * values[i];
      squares[0] += measure[i] * values[i] * values[i];
    }
    for (std::size_t j = 0; j < kLanes; ++j) {
      moments.least = std::min(moments.least, least[j]);
      moments.most = std::max(moments.most, most[j]);
      moments.sum += sums[j];
      moments.squares += squares[j];
    }
  });
}

std::uint64_t FloorOfExponentials(const double* bases, const double* sums, double factor,
                                  std::size_t count, std::uint64_t* weights) {
  return base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      weights[i] = FloorToInteger(bases[i] * Exp(factor * sums[i]));
      total += weights[i];
    }
    return total;
  });
}

}  // namespace submix::mechanism
