// The scale of one part: the largest fraction of max_mixing_weight whose charge stays within a
// target (proofs.md T1, the best rule). A function of this part's pmf, the public weights and the
// target alone; the same work whatever the data.
#pragma once

#include "submix/mechanism/quantise.h"
#include "submix/mechanism/shift_excess.h"

namespace submix::mechanism {

// The largest scale s in [0, 1] at which the direction, before rounding to integers, has an excess
// of at most `target_excess` (per unit of base.total()) in both directions. The result is feasible:
//
// order 2    The forward excess is s^2 times a sum. The backward one is s^2 G(s) with G convex, so
// a
//            chord of G lies above it and what it allows is feasible. With the public model at
//            least twice in every ensemble (floor_count >= 2) G varies by less than a factor 2, and
//            the second chord gives s to about 1e-3 of itself.
// otherwise  divergence::LargestFeasible on the larger excess, which is convex and 0 at 0.
//
// Null directions and targets that are not > 0 get 0.
double LargestScale(const PartDirection& direction, const ShiftExcess& kernel,
                    double target_excess);

}  // namespace submix::mechanism
