// What one token of filtered SubMix costs one part (Theorem 2): the supremum over everything
// the other parts may contribute, so that the charge is a function of this part alone.
//
//     lo, d     forward: lo = c h0 / k, c = 1 + (k-1) f, d = (m - h0) / k;   backward: lo + d, -d
//     E(lo)     sum_x lo_x g(d_x / lo_x)
//     charge    log1p(E(lo) - min_y Delta_y) / (a - 1),
//               Delta_y = lo_y g(d_y / lo_y) - (lo_y + r) g(d_y / (lo_y + r)),  r = (k-1)(1-f)/k
//
// Leaving out Delta is sound and, on more than a handful of tokens, almost free.
#pragma once

#include <span>

#include "submix/divergence/renyi_order.h"
#include "submix/mechanism/shift_excess.h"

namespace submix::mechanism {

// E(lo) - min_y Delta_y of both directions; at order infinity the largest ratio. den, shift and
// rest are lo, d (of the forward direction) and r, all times `total`. Evaluated token by token with
// divergence's kernel: for small supports, and the reference for the vectorised sums. Requires:
// order >= 1, equal sizes, den > 0, den + shift >= 0, rest >= 0.
DirectedExcess ExactExcess(std::span<const double> den, std::span<const double> shift, double rest,
                           double total, divergence::RenyiOrder order);

}  // namespace submix::mechanism
