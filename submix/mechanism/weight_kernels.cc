#include "submix/mechanism/weight_kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "submix/base/vector_clones.h"

namespace submix::mechanism {
namespace {

// Adding it leaves the nearest integer in the lower bits of the mantissa.
constexpr double kRounder = 0x1.8p52;

using Terms = double[kBlockTokens];

// Local partial sums, so that they can stay in registers. Inlined into every clone.
[[gnu::always_inline]] inline void AddToLanes(const Terms& terms, std::size_t count,
                                              double* lanes) {
  double sums[kLanes];
  std::memcpy(sums, lanes, sizeof(sums));
  for (std::size_t i = 0; i < count; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) sums[j] += terms[i + j];
  }
  std::memcpy(lanes, sums, sizeof(sums));
}

[[gnu::always_inline]] inline void MaxToLanes(const Terms& terms, std::size_t count,
                                              double* lanes) {
  double most[kLanes];
  std::memcpy(most, lanes, sizeof(most));
  for (std::size_t i = 0; i < count; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      most[j] = terms[i + j] > most[j] ? terms[i + j] : most[j];
    }
  }
  std::memcpy(lanes, most, sizeof(most));
}

}  // namespace

SUBMIX_VECTOR_CLONES
double CheckedSum(const double* p, std::size_t count) {
  constexpr std::size_t kWide = 4 * kLanes;  // additions that do not wait for each other
  double sums[kWide] = {};
  double least[kWide] = {};
  const std::size_t whole = count / kWide * kWide;
  for (std::size_t i = 0; i < whole; i += kWide) {
    for (std::size_t j = 0; j < kWide; ++j) {
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
  for (std::size_t j = 0; j < kWide; ++j) {
    sum += sums[j];
    is_negative = is_negative || least[j] < 0;
  }
  return is_negative ? std::numeric_limits<double>::quiet_NaN() : sum;
}

SUBMIX_VECTOR_CLONES
void RaiseToLeast(double least, std::size_t count, double* values) {
  for (std::size_t i = 0; i < count; ++i) values[i] = values[i] < least ? least : values[i];
}

SUBMIX_VECTOR_CLONES
std::size_t LargestIndex(const double* p, std::size_t count) {
  double most[kLanes];
  std::fill(most, most + kLanes, p[0]);
  const std::size_t whole = count / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) most[j] = p[i + j] > most[j] ? p[i + j] : most[j];
  }
  double largest = *std::max_element(most, most + kLanes);
  for (std::size_t i = whole; i < count; ++i) largest = std::max(largest, p[i]);
  return static_cast<std::size_t>(std::find(p, p + count, largest) - p);
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
  // Division is what takes the time: one serves both directions of four tokens, a quarter of the
  // block apart. The products stay below 2^512.
  const std::size_t quarter = count / 4;
  Terms forward;
  Terms backward;
  for (std::size_t i = 0; i < quarter; ++i) {
    const std::size_t j = i + quarter;
    const std::size_t k = j + quarter;
    const std::size_t l = k + quarter;
    const double moved_i = den[i] + shift[i];
    const double moved_j = den[j] + shift[j];
    const double moved_k = den[k] + shift[k];
    const double moved_l = den[l] + shift[l];
    const double product_i = den[i] * moved_i;
    const double product_j = den[j] * moved_j;
    const double product_k = den[k] * moved_k;
    const double product_l = den[l] * moved_l;
    const double product_ij = product_i * product_j;
    const double product_kl = product_k * product_l;
    const double inverse = 1 / (product_ij * product_kl);
    const double inverse_ij = inverse * product_kl;
    const double inverse_kl = inverse * product_ij;
    const double quotient_i = shift[i] * shift[i] * (inverse_ij * product_j);
    const double quotient_j = shift[j] * shift[j] * (inverse_ij * product_i);
    const double quotient_k = shift[k] * shift[k] * (inverse_kl * product_l);
    const double quotient_l = shift[l] * shift[l] * (inverse_kl * product_k);
    forward[i] = (quotient_i * moved_i + quotient_j * moved_j) +
                 (quotient_k * moved_k + quotient_l * moved_l);
    backward[i] =
        (quotient_i * den[i] + quotient_j * den[j]) + (quotient_k * den[k] + quotient_l * den[l]);
  }
  for (std::size_t i = quarter; i < PadToLanes(quarter); ++i) forward[i] = backward[i] = 0;
  AddToLanes(forward, PadToLanes(quarter), lanes.forward);
  AddToLanes(backward, PadToLanes(quarter), lanes.backward);
}

SUBMIX_VECTOR_CLONES
void AddCurve(const double* __restrict den, const double* __restrict shift, std::size_t count,
              CurveLanes& lanes) {
  // One division for three quotients of two tokens, half a block apart.
  const std::size_t half = count / 2;
  Terms at_zero;
  Terms at_quarter;
  Terms at_one;
  for (std::size_t i = 0; i < half; ++i) {
    const std::size_t j = i + half;
    const double quarter_i = den[i] + 0.25 * shift[i];
    const double quarter_j = den[j] + 0.25 * shift[j];
    const double moved_i = den[i] + shift[i];
    const double moved_j = den[j] + shift[j];
    const double outer_i = den[i] * moved_i;
    const double outer_j = den[j] * moved_j;
    const double product_i = outer_i * quarter_i;
    const double product_j = outer_j * quarter_j;
    const double inverse = 1 / (product_i * product_j);
    const double quotient_i = shift[i] * shift[i] * (inverse * product_j);
    const double quotient_j = shift[j] * shift[j] * (inverse * product_i);
    at_zero[i] = quotient_i * (quarter_i * moved_i) + quotient_j * (quarter_j * moved_j);
    at_quarter[i] = quotient_i * outer_i + quotient_j * outer_j;
    at_one[i] = quotient_i * (den[i] * quarter_i) + quotient_j * (den[j] * quarter_j);
  }
  for (std::size_t i = half; i < PadToLanes(half); ++i) at_zero[i] = at_quarter[i] = at_one[i] = 0;
  AddToLanes(at_zero, PadToLanes(half), lanes.at_zero);
  AddToLanes(at_quarter, PadToLanes(half), lanes.at_quarter);
  AddToLanes(at_one, PadToLanes(half), lanes.at_one);
}

SUBMIX_VECTOR_CLONES
void AddIntegerOrder(int order, const double* __restrict den, const double* __restrict shift,
                     std::size_t count, DirectedLanes& lanes) {
  Terms forward;
  Terms backward;
  Terms up;    // 1 + t
  Terms down;  // 1 + t' = 1 / (1 + t)
  for (std::size_t i = 0; i < count; ++i) {
    const double moved = den[i] + shift[i];
    const double inverse = 1 / (den[i] * moved);
    up[i] = moved * moved * inverse;
    down[i] = den[i] * den[i] * inverse;
  }
  // Horner's scheme, two steps at a time; an odd number of them starts with one.
  const double start_slope = order % 2 == 0 ? 0 : 1;
  const double start = order % 2 == 0 ? 1 : 2;
  for (std::size_t i = 0; i < count; ++i) {
    forward[i] = start_slope * up[i] + start;
    backward[i] = start_slope * down[i] + start;
  }
  for (int coefficient = order % 2 == 0 ? 2 : 3; coefficient < order; coefficient += 2) {
    const double first = coefficient;
    const double second = coefficient + 1;
    for (std::size_t i = 0; i < count; ++i) {
      forward[i] = (forward[i] * up[i] + first) * up[i] + second;
      backward[i] = (backward[i] * down[i] + first) * down[i] + second;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double moved = den[i] + shift[i];
    const double square = shift[i] * shift[i] / (den[i] * moved);
    forward[i] = square * moved * forward[i];
    backward[i] = square * den[i] * backward[i];
  }
  AddToLanes(forward, count, lanes.forward);
  AddToLanes(backward, count, lanes.backward);
}

SUBMIX_VECTOR_CLONES
void MaxRatio(const double* __restrict den, const double* __restrict shift, std::size_t count,
              DirectedLanes& lanes) {
  Terms forward;
  Terms backward;
  for (std::size_t i = 0; i < count; ++i) {
    forward[i] = shift[i] / den[i];
    backward[i] = -shift[i] / (den[i] + shift[i]);
  }
  MaxToLanes(forward, count, lanes.forward);
  MaxToLanes(backward, count, lanes.backward);
}

SUBMIX_VECTOR_CLONES
void AddMasked(const std::int64_t* __restrict row, std::int64_t mask, std::size_t count,
               std::int64_t* __restrict sums) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += row[i] & mask;
}

}  // namespace submix::mechanism
