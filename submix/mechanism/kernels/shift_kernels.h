// From the members of a part to its shift of the public weights, and the sums behind the excess of
// such a shift: nothing but arithmetic on arrays. Written with vectors of whatever width the
// processor has, chosen when the program starts; always eight partial sums, in the same order and
// never contracted to fused operations, so that every processor computes the same bits.
//
// In the sums t = shift / den and t' = -shift / (den + shift). They require: den > 0 and
// den + shift > 0, both between 2^-64 and 2^64; count as from PadToLanes, at most kBlockTokens.
#pragma once

#include <cstddef>
#include <cstdint>

#include "submix/mechanism/kernels/weight_kernels.h"

namespace submix::mechanism {

// Partial sums of both directions; `forward` has the part in the numerator.
struct DirectedLanes {
  double forward[kLanes] = {};
  double backward[kLanes] = {};
};

// Adds den t^2 and (den + shift) t'^2: order 2.
void AddOrderTwo(const double* den, const double* shift, std::size_t count, DirectedLanes& lanes);

// Adds den g(t) and (den + shift) g(t') for a whole order a >= 2. With x = 1 + t and g of degree n,
//     g_n(t) = x^n - 1 - n t,   g_2n = 2 g_n + (g_n + n t)^2,   g_(n+1) = x g_n + n t^2,
//     (den + shift) g_a(t') = den x^(1-a) ((a-1) t (x^(a-1) - 1) - g_(a-1)(t)).
// The terms of the first line are >= 0, and the difference in the second is at least half of what
// it is taken from near t = 0 and at least 1 / a of it at t = -1: no digits are lost. Where x^a
// overflows, forward is infinite and backward may be NaN.
void AddIntegerOrder(int order, const double* den, const double* shift, std::size_t count,
                     DirectedLanes& lanes);

// Takes the maximum with t and t': order infinity. NaN if one is.
void MaxRatio(const double* den, const double* shift, std::size_t count, DirectedLanes& lanes);

// What the two halves of a part say of some tokens, and how that becomes their shift at a scale:
// scale * (pmf_scale * (first + second) - room).
struct MemberBlock {
  const double* first;
  const double* second;
  const double* room;
  double pmf_scale;
};

// out = the shift, rounded down; returns the sum of that. Any count. Requires: shifts of a
// magnitude below 2^51.
std::int64_t FillFloors(const MemberBlock& members, double scale, std::size_t count, double* out);
// weights += the same. Requires also: no sum below 0.
void AddFloors(const MemberBlock& members, double scale, std::size_t count, std::uint64_t* weights);

// Moments: the n-th is the sum of den t^n, n = 2, 3, …; three at a time.
inline constexpr int kMomentsAtATime = 3;
inline constexpr int kMostMoments = 7 * kMomentsAtATime;
inline constexpr int kMostFallMoments = 2 * kMomentsAtATime;

struct MomentLanes {
  double all[kMostMoments][kLanes] = {};
  double falls[kMostFallMoments][kLanes] = {};  // of -t, over the tokens with t < 0
  double steepest_rise[kLanes] = {};            // the largest t, or 0
  double steepest_fall[kLanes] = {};            // the largest -t, or 0
  // Of the members themselves: what they sum to and the least value, or 0.
  double first_sums[2][kLanes] = {};
  double second_sums[2][kLanes] = {};
  double least[kLanes] = {};
};

// Adds the first `moments` of all tokens and the first `fall_moments` of the falls. Requires:
// multiples of kMomentsAtATime, neither 0.
void AddMoments(const double* den, const MemberBlock& members, std::size_t count, int moments,
                int fall_moments, MomentLanes& lanes);

// Two pmfs and the public one; a probability p counts as the weight 1 + spread p.
struct PairBlock {
  const double* public_pmf;
  const double* first;
  const double* second;
  double spread;
};

inline constexpr int kQuotientsAtATime = 4;
struct QuotientLanes {
  double sums[kQuotientsAtATime][kLanes] = {};
};

// Adds (first - second)^2 / ((1 - s) public + s second), in weights, for each s of `shares`
// [kQuotientsAtATime]. Requires: 0 <= s <= 1, count as from PadToLanes, of any size.
void AddQuotients(const PairBlock& pair, const double* shares, std::size_t count,
                  QuotientLanes& lanes);

}  // namespace submix::mechanism
