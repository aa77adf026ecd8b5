// The mean law of an ensemble and of the same ensemble without each of its parts, as integers, in
// one pass over the support: what SubMix samples from, and the charge that its paper books.
//
//     h = w hbar + (1 - w) h0,   w, hbar: means over the parts;   h'_i: the same without part i
//
// Laws become integers as by QuantiseLaw, each from its own real law, so that h'_i is the law that
// the same program would sample from without the part. One part left out of one is the public
// model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "submix/mechanism/shift_excess.h"

namespace submix::mechanism {

// A part's two halves, both pmfs, what they sum to together, and its mixing weight in [0, 1]. A
// view.
struct WeightedPart {
  std::span<const double> first;
  std::span<const double> second;
  double sum;
  double weight;
};

struct LeaveOneOut {
  std::vector<std::uint64_t> mixture;    // [V]: h, sum kTotalWeight
  std::vector<DirectedExcess> excesses;  // [K]: of h from h'_i, both directions
};

// The remainders of rounding are on `top_token`. Requires: at least one part, a pmf of the same
// size as the members'.
LeaveOneOut LeaveOutEach(std::span<const double> public_pmf, std::span<const WeightedPart> parts,
                         std::size_t top_token, const ShiftExcess& kernel);

}  // namespace submix::mechanism
