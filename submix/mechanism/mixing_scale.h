// The scale of one part: the largest fraction of max_mixing_weight whose charge stays within a
// target (proofs.md T1, the best rule). A function of this part's pmf, the public weights and the
// target alone; the same work whatever the data.
#pragma once

#include "submix/mechanism/quantise.h"
#include "submix/mechanism/shift_excess.h"

namespace submix::mechanism {

// The largest scale s in [0, 1] at which the direction, before rounding to integers, has an excess
// of at most `target_excess` in both directions. The result is feasible:
//
// order 2    The forward excess is s^2 times a sum. The backward one is s^2 G(s) with G convex, so
//            chords of G lie above it, and what they allow is feasible. With the public model at
//            least twice in every ensemble (floor_count >= 2) chords of 0, 1/4 and 1 give s to a
//            percent of itself or so where the backward excess binds, exactly where the forward
//            does.
// infinity   Explicit.
// otherwise  A bracket on the larger excess (log_bracket.h).
//
// Null directions and targets that are not > 0 get 0.
double LargestScale(const PartDirection& direction, const ShiftExcess& kernel,
                    double target_excess);

}  // namespace submix::mechanism
