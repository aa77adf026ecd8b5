// Equation 2 of SubMix: the largest mixing weight at which a part's two halves stay close,
//     max { lambda <= 1 : D(lambda a + (1-lambda) h0 || lambda b + (1-lambda) h0) <= beta }.
//
// Laws have the resolution of the integers and no zeros: p counts as (1 + (W - V) p) / W.
#pragma once

#include <span>

#include "submix/mechanism/shift_excess.h"

namespace submix::mechanism {

// Two pmfs and the public one on the same support. A view.
struct MemberPair {
  std::span<const double> public_pmf;
  std::span<const double> first;   // a
  std::span<const double> second;  // b
};

// The largest weight with an excess (shift_excess.h) of at most `target`; 0 if that is not > 0. The
// result is feasible; the same work whatever the data. Requires: pmfs.
//
// Order 2   Within 1e-3 of the maximum, mostly within 1e-8. The excess at weight s is s^2 G(s) with
//           G = sum d^2 / ((1-s) h0 + s b), d = a - b. 1 / G is a harmonic sum of functions that
//           are affine in s, so it is concave: chords of 1 / G lie below it, and what they allow is
//           feasible; chords extended lie above it, and what they do not allow is not. Three sweeps
//           over the support evaluate G at four weights each, the later ones between the two roots.
// otherwise A bracket (divergence/mixing_weight.h), mostly within 1e-6.
double LargestPairWeight(const MemberPair& pair, const ShiftExcess& kernel, double target);

// The same for PMixED's ball: the largest weight of the part at which the mixture's excess from the
// public law, and the public law's from the mixture, are both at most `target`. Both come from one
// sweep at orders other than 2. Requires: pmfs of the same size.
double LargestBallWeight(std::span<const double> public_pmf, std::span<const double> part,
                         const ShiftExcess& kernel, double target);

}  // namespace submix::mechanism
