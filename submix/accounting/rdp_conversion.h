// Between Rényi differential privacy and (epsilon, delta).
//   Classic:  epsilon = r + log(1/delta) / (a - 1)   (Mironov 2017, Proposition 3).
//   Improved: epsilon = r + log1p(-1/a) - log(a delta) / (a - 1)   (arXiv 2004.00010, Prop. 12),
//             and epsilon = 0 if delta^2 >= 1 - exp(-r), since total variation <= sqrt(1 -
//             exp(-KL)) (Bretagnolle and Huber). For orders near 1 that shortcut decides.
// Orders: > 1 for classic, >= 1.01 for improved. At order infinity both read (r, 0): pure privacy.
// All in nats. Invalid orders, NaN and values out of range are kInvalidArgument.
#pragma once

#include <span>
#include <vector>

#include "submix/base/status.h"
#include "submix/divergence/renyi_order.h"

namespace submix::accounting {

enum class ConversionKind { kClassic, kImproved };

// The least order of the improved conversion.
inline constexpr double kLeastImprovedOrder = 1.01;

// A Rényi guarantee: divergence at most `rdp` nats at `order`, in both directions.
struct RdpBound {
  divergence::RenyiOrder order = divergence::RenyiOrder::Two();
  double rdp = 0;  // >= 0, infinity allowed
};

struct EpsilonBound {
  double epsilon = 0;  // >= 0
  double delta = 0;    // in (0, 1)
};

// Of every (epsilon, delta) that is printed, where nobody asks for another.
inline constexpr double kDefaultDelta = 1e-6;

// Some 270 orders from 1.01 to 65,536, dense enough that the best of them gives an epsilon within
// about 0.1 % of the best real order, all integers to 64 among them; and infinity.
std::vector<divergence::RenyiOrder> DefaultOrders();
// 2, 3, …, last.
std::vector<divergence::RenyiOrder> IntegerOrders(int last);

// The least epsilon >= 0 that the conversion gives at this delta, 0 < delta < 1.
base::StatusOr<double> EpsilonForDelta(const RdpBound& bound, double delta, ConversionKind kind);

// Bounds that hold at the same time, converted at the order that gives the least epsilon.
struct BestConversion {
  divergence::RenyiOrder order = divergence::RenyiOrder::Infinity();
  double rdp = 0;  // the bound at that order
  double epsilon = 0;
};
// Orders that the conversion does not cover are left out. Errors: kInvalidArgument if none is left,
// or as EpsilonForDelta.
base::StatusOr<BestConversion> BestEpsilon(std::span<const RdpBound> bounds, double delta,
                                           ConversionKind kind);

// The least delta in [0, 1] that the conversion gives at this epsilon >= 0. 1 says nothing.
base::StatusOr<double> DeltaForEpsilon(const RdpBound& bound, double epsilon, ConversionKind kind);

// The largest rdp at `order` whose EpsilonForDelta is at most the target's epsilon: what a budget
// may be. Errors: kInvalidArgument also if even rdp = 0 does not reach the target (classic only).
base::StatusOr<double> RdpForEpsilon(divergence::RenyiOrder order, const EpsilonBound& target,
                                     ConversionKind kind);

}  // namespace submix::accounting
