// Rényi divergence of Laplace noise (Mironov 2017, Proposition 6). With r = sensitivity / scale:
//     D_a = log(a/(2a-1) e^((a-1) r) + (a-1)/(2a-1) e^(-a r)) / (a - 1),
//     D_1 = r + e^-r - 1,   D_inf = r.
#pragma once

#include "submix/divergence/renyi_order.h"

namespace submix::accounting {

// A query whose answer may move by `l1_sensitivity` in the sum of absolute differences, with
// independent noise of scale b on every coordinate; the argument is their quotient r. A vector
// costs most where one coordinate moves alone: D is convex in r with D(0) = 0. In nats, the same in
// both directions; orders below 1 get the value at order 1, which bounds theirs. NaN or a negative
// argument gives infinity. Relative error below 1e-13.
//
// The mean of k pmfs moves by at most 2/k when one is replaced, or removed and the others averaged
// anew; 1/k only if a missing pmf counts as zeros and the divisor stays k (Theorem 12).
double LaplaceRdp(double l1_sensitivity_over_scale, divergence::RenyiOrder order);

}  // namespace submix::accounting
