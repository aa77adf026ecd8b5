#include "submix/divergence/softmax.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "submix/base/check.h"

// One more body for each vector width, chosen at load time; the arithmetic, and so every bit, is
// the same. Sanitizers cannot run before such a choice.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SUBMIX_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define SUBMIX_VECTOR_CLONES
#endif

namespace submix::divergence {
namespace {

// Sums and maxima run in this many lanes, whatever the processor, so that their order is fixed.
constexpr std::size_t kLanes = 16;

// exp(x) for x <= 0 by 2^n times a polynomial on |r| <= log(2)/2; 0 below -708. No branches: the
// compiler turns a loop of these into vector code, which it cannot do with std::exp.
inline double ExpNonPositive(double x) {
  constexpr double kLog2E = 0x1.71547652b82fep0;
  // log(2) in two parts; n * kLog2High is exact for |n| < 2^11.
  constexpr double kLog2High = 0x1.62e42fefa0000p-1;
  constexpr double kLog2Low = 0x1.cf79abc9e3b3ap-40;
  constexpr double kRoundToInteger = 0x1.8p52;
  const double clamped = x < -708.0 ? -708.0 : x;
  const double shifted = clamped * kLog2E + kRoundToInteger;  // n sits in the last bits
  const double n = shifted - kRoundToInteger;
  const double r = (clamped - n * kLog2High) - n * kLog2Low;
  // Taylor to r^13: the remainder is below 2^-57.
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
  const double result = std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum) + exponent);
  return x < -708.0 ? 0.0 : result;
}

SUBMIX_VECTOR_CLONES bool AllFinite(const float* values, std::size_t size) {
  constexpr std::uint32_t kExponentMask = 0x7f800000;
  std::uint32_t not_finite = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint32_t exponent = std::bit_cast<std::uint32_t>(values[i]) & kExponentMask;
    not_finite |= exponent == kExponentMask ? 1u : 0u;
  }
  return not_finite == 0;
}

SUBMIX_VECTOR_CLONES float Largest(const float* values, std::size_t size) {
  std::array<float, kLanes> largest;
  largest.fill(values[0]);
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float value = values[i + lane];
      largest[lane] = largest[lane] < value ? value : largest[lane];
    }
  }
  for (; i < size; ++i) largest[0] = std::max(largest[0], values[i]);
  return *std::max_element(largest.begin(), largest.end());
}

SUBMIX_VECTOR_CLONES double ExponentiateAndSum(const float* logits, double largest,
                                               double inverse_temperature, double* terms,
                                               std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    terms[i] = ExpNonPositive((static_cast<double>(logits[i]) - largest) * inverse_temperature);
  }
  std::array<double, kLanes> sums{};
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += terms[i + lane];
  }
  for (; i < size; ++i) sums[0] += terms[i];
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

SUBMIX_VECTOR_CLONES void Scale(double* values, double factor, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) values[i] *= factor;
}

}  // namespace

bool Softmax(std::span<const float> logits, double temperature, std::span<double> pmf) {
  SUBMIX_CHECK(!logits.empty() && pmf.size() == logits.size(), "one probability for each logit");
  SUBMIX_CHECK(temperature > 0 && temperature <= std::numeric_limits<double>::max(),
               "temperature must be positive and finite");
  const std::size_t size = logits.size();
  if (!AllFinite(logits.data(), size)) return false;
  const double largest = Largest(logits.data(), size);
  // Finite, so that the largest logit's 0 stays 0.
  const double inverse_temperature = std::min(1 / temperature, std::numeric_limits<double>::max());
  const double sum =
      ExponentiateAndSum(logits.data(), largest, inverse_temperature, pmf.data(), size);
  Scale(pmf.data(), 1 / sum, size);
  return true;
}

}  // namespace submix::divergence
