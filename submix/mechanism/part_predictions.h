// What a mechanism sees of one token: the public model's and every member's next-token pmf on the
// public support, after the public maps (temperature, top-k, top-p; Theorem 3).
#pragma once

#include <cstddef>
#include <span>

#include "submix/base/for_each.h"

namespace submix::mechanism {

// A view; the owner (MappedPredictions) must outlive it.
// K = num_parts, V = support size. Rows are normalised in double; public_pmf > 0 everywhere.
struct PartPredictions {
  std::span<const double> public_pmf;   // [V]
  std::span<const double> member_pmfs;  // [K * halves, V], row part * halves + half
  int num_parts = 0;
  int halves = 1;  // members a part: 2 for pairs as in SubMix, else 1
  // Who works on them: parts are independent of each other, and so are tokens. Outlives the view.
  const base::ForEach* for_each = &base::kInTurn;

  std::size_t support_size() const { return public_pmf.size(); }
  std::span<const double> member(int part, int half) const {
    const std::size_t row = static_cast<std::size_t>(part * halves + half);
    return member_pmfs.subspan(row * support_size(), support_size());
  }
};

}  // namespace submix::mechanism
