// Soundness does not depend on this file: whatever it finds is rounded, charged and checked anew.
//
// The scale of one part: the largest fraction of max_mixing_weight whose charge stays within a
// target (Theorem 1, the best rule). A function of this part's pmfs, the public weights and the
// target alone; the same work whatever the data.
//
// Orders 2, 3, … 20. With t = direction / den the excess at scale s is (g as in shift_excess.h)
//     forward   sum den g_a(s t)     = sum_n C(a, n) s^n M_n,   M_n = sum den t^n, n = 2 .. a
//     backward  sum den g_(1-a)(s t),   g_(1-a)(x) = (1 + x)^(1-a) - 1 + (a-1) x
// so that one sweep over the members gives the forward excess at every scale, as a polynomial, and
// an upper bound of the backward one:
//  - Tokens that fall, t = -u < 0: g_(1-a)(-s u) = sum_n c_n s^n u^n with c_n = C(a-2+n, n) > 0.
//    Up to some m the moments N_n = sum den u^n are summed; beyond it N_n <= N_m U^(n-m) with U the
//    steepest fall, and s^n <= s^(m+1).
//  - Tokens that rise: Taylor's series of g_(1-a)(x), x >= 0, alternates, and its remainder has the
//    sign of the first term left out: what is cut off after x^2 or after x^4 is above it.
// The scale returned is the largest, to 2^-52, at which the larger bound is within the target. For
// floor_count >= 2 (where U < 2/3) it is within a few per cent of the true maximum whatever the
// pmfs, and mostly within 1e-4: rising tokens that make the second bound loose make the forward
// excess large.
//
// Order infinity: explicit. Other orders, and floor_count < 2: a bracket on the larger excess.
#pragma once

#include <array>
#include <span>

#include "submix/mechanism/kernels/shift_kernels.h"
#include "submix/mechanism/quantise.h"
#include "submix/mechanism/shift_excess.h"

namespace submix::mechanism {

// A part's direction, and how far it is followed. Null directions have scale 0.
struct ScaledDirection {
  PartDirection direction;
  double scale;
};

// Immutable; thread-safe.
class ScaleSolver {
 public:
  // Requires: order >= 1.
  explicit ScaleSolver(divergence::RenyiOrder order);

  // The scale in [0, 1] for a part with these members, such that the direction, before rounding to
  // integers, has an excess of at most `target_excess` in both directions; 0 if that is not > 0.
  ScaledDirection Solve(const PublicWeights& base, std::span<const double> public_pmf,
                        std::span<const double> first, std::span<const double> second,
                        double target_excess) const;

 private:
  static constexpr int kLargestSummedOrder = 20;
  // Beyond it the terms of the falls fall geometrically.
  static constexpr int kLastTerm = 64;

  class Bound;

  ShiftExcess kernel_;
  int degree_ = 0;                      // the order, if the bound is by moments; else 0
  int moments_ = kMomentsAtATime;       // how many are summed: from the second, whole groups
  int fall_moments_ = kMomentsAtATime;  // … of the tokens that fall
  std::array<double, kLargestSummedOrder + 1> binomials_{};  // C(a, n)
  std::array<double, kLastTerm + 1> coefficients_{};         // c_n
};

}  // namespace submix::mechanism
