// PMixED's ball: both directions of a part's divergence from the public law, at one order, are at
// most a radius.
#pragma once

#include "submix/mechanism/baselines/ball_laws.h"
#include "submix/mechanism/shift_excess.h"

namespace submix::mechanism {

// m = lambda p + (1 - lambda) h0 with the largest lambda <= 1 at which both directions are at most
// `radius` nats at the kernel's order, before rounding to integers. A part that is no pmf is the
// public law.
LawWeights RenyiBallLaw(const BallLaws& laws, int part, const ShiftExcess& kernel, double radius);

}  // namespace submix::mechanism
