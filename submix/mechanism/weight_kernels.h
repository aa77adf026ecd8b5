// The inner loops of the mechanisms over the support: nothing but arithmetic on arrays, in a form
// that compilers vectorise. Eight partial sums, always in the same order and never contracted to
// fused operations, so that every processor computes the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace submix::mechanism {

// Tokens that are worked on together: a few arrays of this size stay in the first-level cache.
inline constexpr std::size_t kBlockTokens = 512;
// Partial sums. Arrays passed to the Add… kernels are padded to a multiple of it.
inline constexpr std::size_t kLanes = 8;

constexpr std::size_t PadToLanes(std::size_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

// Partial sums of both directions; `forward` has the part in the numerator.
struct DirectedLanes {
  double forward[kLanes] = {};
  double backward[kLanes] = {};
};

// The sum of p, or NaN if a value is NaN or negative. An infinity gives infinity or NaN.
double CheckedSum(const double* p, std::size_t count);

// values = max(values, least). NaN stays.
void RaiseToLeast(double least, std::size_t count, double* values);

// The first index of the largest value. Requires: count > 0, no NaN.
std::size_t LargestIndex(const double* p, std::size_t count);

// out = factor * (scale * (first + second) - room).
void FillShift(const double* first, const double* second, const double* room, double scale,
               double factor, std::size_t count, double* out);

// values = floor(values), also as integers into `integers`; returns their sum.
// Requires: |values| < 2^51.
std::int64_t FloorInPlace(double* values, std::int64_t* integers, std::size_t count);

// In the following, t = shift / den and t' = -shift / (den + shift). Requires: den > 0,
// den + shift > 0, both below 2^64 and at least 2^-64; count a multiple of kLanes.

// Adds den t^2 and (den + shift) t'^2: order 2.
void AddOrderTwo(const double* den, const double* shift, std::size_t count, DirectedLanes& lanes);
// The sums of shift^2 / den, shift^2 / (den + shift / 4) and shift^2 / (den + shift).
struct CurveLanes {
  double at_zero[kLanes] = {};
  double at_quarter[kLanes] = {};
  double at_one[kLanes] = {};
};
void AddCurve(const double* den, const double* shift, std::size_t count, CurveLanes& lanes);
// Adds den g(t) and (den + shift) g(t') for an integer order >= 2, by
//     g(t) = (1 + t)^a - 1 - a t = t^2 sum_{l=0}^{a-2} (a - 1 - l) (1 + t)^l,
// in which every term is positive: nothing cancels.
void AddIntegerOrder(int order, const double* den, const double* shift, std::size_t count,
                     DirectedLanes& lanes);
// Takes the maximum with t and t': order infinity.
void MaxRatio(const double* den, const double* shift, std::size_t count, DirectedLanes& lanes);

// sums += row & mask, where mask is 0 or all ones: the same work whoever takes part.
void AddMasked(const std::int64_t* row, std::int64_t mask, std::size_t count, std::int64_t* sums);

}  // namespace submix::mechanism
