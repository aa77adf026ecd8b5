// The inner loops of the mechanisms over the support: nothing but arithmetic on arrays, in a form
// that compilers vectorise, always in the same order and never contracted to fused operations, so
// that every processor computes the same bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "submix/base/for_each.h"

namespace submix::mechanism {

// Tokens that are worked on together: a few arrays of this size stay in the first-level cache.
inline constexpr std::size_t kBlockTokens = 512;
// body(begin, count), which does not throw, for every block of `tokens` tokens, by whom `for_each`
// has.
template <typename Body>
void ForEachBlock(const base::ForEach& for_each, std::size_t tokens, const Body& body) {
  const std::size_t blocks = (tokens + kBlockTokens - 1) / kBlockTokens;
  for_each(static_cast<int>(blocks), [&](int block) {
    const std::size_t begin = static_cast<std::size_t>(block) * kBlockTokens;
    body(begin, std::min(kBlockTokens, tokens - begin));
  });
}

// Partial sums of the kernels over blocks.
inline constexpr std::size_t kLanes = 8;

// Tokens of an array that is worked on two lanes' worth at a time.
constexpr std::size_t PadToLanes(std::size_t count) {
  return (count + 2 * kLanes - 1) / (2 * kLanes) * (2 * kLanes);
}

// The sum of the values; NaN if one is NaN or negative. An infinity gives infinity or NaN.
double CheckedSum(const double* p, std::size_t count);

// values = max(values, least). NaN stays.
void RaiseToLeast(double least, std::size_t count, double* values);

// The first index of the largest value. Requires: count > 0, no NaN.
std::size_t LargestIndex(const double* p, std::size_t count);

// out = scale * (pmf_scale * (first + second) - room).
void FillShift(const double* first, const double* second, const double* room, double pmf_scale,
               double scale, std::size_t count, double* out);

// values = floor(values), also as integers into `integers`; returns their sum.
// Requires: |values| < 2^51.
std::int64_t FloorInPlace(double* values, std::int64_t* integers, std::size_t count);
// weights = 1 + floor(scale * p); returns the sum of the floors. Requires: 0 <= scale * p < 2^51.
std::int64_t FloorToWeights(const double* p, double scale, std::size_t count,
                            std::uint64_t* weights);

// For integers w < 2^51: u = max(1, floor(floor_fraction * w)), room = w - u,
// least_rest = w + others * u; returns the sum of room.
double FillPublicFloors(const std::uint64_t* weights, double floor_fraction, double others,
                        std::size_t count, double* room, double* least_rest);

// weights *= factor.
void MultiplyWeights(std::uint64_t factor, std::size_t count, std::uint64_t* weights);

// sums += first + second.
void AddBoth(const double* first, const double* second, std::size_t count, double* sums);
// law = 1 + floor(members * sums + public_model * public_pmf), also as integers into `weights`;
// returns the sum of the floors. Requires: floors in [0, 2^51).
std::int64_t FillLaw(const double* sums, const double* public_pmf, double members,
                     double public_model, std::size_t count, double* law, std::uint64_t* weights);
// The same, as doubles only, with max(0, sums - (first + second)) for sums.
std::int64_t FillLawWithout(const double* sums, const double* first, const double* second,
                            const double* public_pmf, double members, double public_model,
                            std::size_t count, double* law);
// out = a - b.
void Subtract(const double* a, const double* b, std::size_t count, double* out);

}  // namespace submix::mechanism
