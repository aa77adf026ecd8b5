// The largest Rényi divergence of two pmfs whose log ratio has bounded range (Theorem 6).
#pragma once

#include "submix/divergence/renyi_order.h"

namespace submix::divergence {

// sup of D_order(P || Q) over all P, Q with max log(P/Q) - min log(P/Q) <= range, in nats; the same
// in both directions. With L(x) = log(sinh(x) / x) and a the order:
//     BR_a(range) = [a L(a range/2) - L(range/2) - (a-1) L((a-1) range/2)] / (a-1),
//     BR_1 = L(x) + x coth x - 1 at x = range/2,   BR_inf = range,   BR_a <= a range^2 / 8.
// Orders below 1 get the value at order 1, which bounds theirs. Relative error below 1e-12.
// A NaN or negative range gives infinity: an unknown cost must not be payable.
double BoundedRangeDivergence(double range, RenyiOrder order);

}  // namespace submix::divergence
