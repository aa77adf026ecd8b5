// Rényi divergence of two pmfs on the same support, in nats:
//     D_order(p || q) = log(sum p^order q^(1 - order)) / (order - 1),
// Kullback-Leibler at order 1, the largest log ratio at order infinity. Source: van Erven and
// Harremoës 2014; evaluated in the non-cancelling form of divergence_kernel.h.
//
// All functions: never negative; infinity where q lacks support that p has (below order 1 only if
// the supports are disjoint); NaN anywhere gives infinity, because an unknown cost must not be
// payable. Relative error below 1e-12 for integer weights at orders from 0.5 to 512 and infinity.
#pragma once

#include <cstdint>
#include <span>

#include "submix/divergence/renyi_order.h"

namespace submix::divergence {

// Requires: equal sizes. The pmfs should sum to 1 (kPmfSumTolerance); if p's sum is off by e and
// q's by d, the result is off by up to about (order |e - d| + |d|) / |order - 1| from the
// divergence of the normalised pmfs, which the non-cancelling form mostly hides.
double RenyiDivergence(std::span<const double> p, std::span<const double> q, RenyiOrder order);

// The same for p / total and q / total, from exact integer differences: no normalisation error at
// all. Requires: equal sizes, equal totals, 0 < total < 2^63.
double RenyiDivergence(std::span<const std::uint64_t> p, std::span<const std::uint64_t> q,
                       RenyiOrder order);

// The larger of both directions.
double SymmetricRenyiDivergence(std::span<const double> p, std::span<const double> q,
                                RenyiOrder order);
double SymmetricRenyiDivergence(std::span<const std::uint64_t> p, std::span<const std::uint64_t> q,
                                RenyiOrder order);

}  // namespace submix::divergence
