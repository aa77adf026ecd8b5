#include "submix/mechanism/weight_kernels.h"

#include <bit>
#include <limits>

// One more body for each vector width; the arithmetic, and so every bit, is the same. The choice
// between them is made before sanitizers are ready for it.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define SUBMIX_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define SUBMIX_VECTOR_CLONES
#endif

namespace submix::mechanism {
namespace {

// Adding it leaves the nearest integer in the lower bits of the mantissa.
constexpr double kRounder = 0x1.8p52;

}  // namespace

SUBMIX_VECTOR_CLONES
double CheckedSum(const double* p, std::size_t count) {
  double sums[kLanes] = {};
  double least[kLanes] = {};
  const std::size_t whole = count / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      sums[j] += p[i + j];
      least[j] = p[i + j] < least[j] ? p[i + j] : least[j];
    }
  }
  double sum = 0;
  bool is_negative = false;
  for (std::size_t i = whole; i < count; ++i) {
    sum += p[i];
    is_negative = is_negative || p[i] < 0;
  }
  for (std::size_t j = 0; j < kLanes; ++j) {
    sum += sums[j];
    is_negative = is_negative || least[j] < 0;
  }
  return is_negative ? std::numeric_limits<double>::quiet_NaN() : sum;
}

SUBMIX_VECTOR_CLONES
void FillShift(const double* __restrict first, const double* __restrict second,
               const double* __restrict room, double scale, double factor, std::size_t count,
               double* __restrict out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = factor * (scale * (first[i] + second[i]) - room[i]);
  }
}

SUBMIX_VECTOR_CLONES
std::int64_t FloorInPlace(double* __restrict values, std::int64_t* __restrict integers,
                          std::size_t count) {
  constexpr auto kRounderBits = std::bit_cast<std::int64_t>(kRounder);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double biased = values[i] + kRounder;
    const double nearest = biased - kRounder;
    const std::int64_t above = nearest > values[i] ? 1 : 0;
    const double above_as_double = nearest > values[i] ? 1.0 : 0.0;
    const std::int64_t integer = std::bit_cast<std::int64_t>(biased) - kRounderBits - above;
    values[i] = nearest - above_as_double;
    integers[i] = integer;
    sum += integer;
  }
  return sum;
}

SUBMIX_VECTOR_CLONES
void AddOrderTwo(const double* __restrict den, const double* __restrict shift, std::size_t count,
                 DirectedLanes& lanes) {
  DirectedLanes sums = lanes;
  for (std::size_t i = 0; i < count; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      const double d = den[i + j];
      const double n = shift[i + j];
      const double q = n * n / (d * (d + n));  // one division for both directions
      sums.forward[j] += q * (d + n);
      sums.backward[j] += q * d;
    }
  }
  lanes = sums;
}

SUBMIX_VECTOR_CLONES
void AddIntegerOrder(int order, const double* __restrict den, const double* __restrict shift,
                     std::size_t count, DirectedLanes& lanes) {
  DirectedLanes sums = lanes;
  for (std::size_t i = 0; i < count; i += kLanes) {
    double up[kLanes];    // 1 + t
    double down[kLanes];  // 1 + t' = 1 / (1 + t)
    double forward[kLanes];
    double backward[kLanes];
    for (std::size_t j = 0; j < kLanes; ++j) {
      up[j] = (den[i + j] + shift[i + j]) / den[i + j];
      down[j] = den[i + j] / (den[i + j] + shift[i + j]);
      forward[j] = 1;
      backward[j] = 1;
    }
    for (int coefficient = 2; coefficient < order; ++coefficient) {
      for (std::size_t j = 0; j < kLanes; ++j) {
        forward[j] = forward[j] * up[j] + coefficient;
        backward[j] = backward[j] * down[j] + coefficient;
      }
    }
    for (std::size_t j = 0; j < kLanes; ++j) {
      const double n = shift[i + j];
      // n^2 / den is at most 2^96 here, and a token that does not move adds no 0 * infinity.
      sums.forward[j] += n == 0 ? 0 : n * n / den[i + j] * forward[j];
      sums.backward[j] += n == 0 ? 0 : n * n / (den[i + j] + n) * backward[j];
    }
  }
  lanes = sums;
}

SUBMIX_VECTOR_CLONES
void MaxRatio(const double* __restrict den, const double* __restrict shift, std::size_t count,
              DirectedLanes& lanes) {
  DirectedLanes most = lanes;
  for (std::size_t i = 0; i < count; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      const double forward = shift[i + j] / den[i + j];
      const double backward = -shift[i + j] / (den[i + j] + shift[i + j]);
      most.forward[j] = forward > most.forward[j] ? forward : most.forward[j];
      most.backward[j] = backward > most.backward[j] ? backward : most.backward[j];
    }
  }
  lanes = most;
}

SUBMIX_VECTOR_CLONES
void AddMasked(const std::int64_t* __restrict row, std::int64_t mask, std::size_t count,
               std::int64_t* __restrict sums) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += row[i] & mask;
}

}  // namespace submix::mechanism
