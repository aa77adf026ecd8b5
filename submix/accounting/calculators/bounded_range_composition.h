// The least delta(epsilon) that holds for `count` adaptive tokens whose log probability ratios
// each have a range of at most `range`, such as a fixed number of DClip tokens (Theorem 6).
// With the worst two-point law at offset t, P-mass p(t) = (1 - e^(t-range)) / (1 - e^-range) at
// loss t and the rest at t - range:
//     delta_0(e) = max(1 - exp(e), 0),
//     delta_n(e) = max over 0 <= t <= range of p(t) delta_(n-1)(e - t) +
//                                              (1 - p(t)) delta_(n-1)(e - t + range).
// Proof: docs/accounting.md. The adversary may choose t by what came before, so that this is larger
// than a composition of one fixed pair, and no fixed pair of the family dominates.
#pragma once

#include <cstdint>
#include <vector>

#include "submix/base/status.h"

namespace submix::accounting {

// Two numbers with the true one between them.
struct Bracket {
  double lower = 0;
  double upper = 0;
};

// Immutable value; thread-safe.
class BoundedRangeComposition {
 public:
  // Time grows as count^1.5; 0.1 s for 1,000, some seconds at the limit. Errors: kInvalidArgument
  // unless 0 < range <= 100 and count >= 1; kUnimplemented for more than 20,000 tokens.
  static base::StatusOr<BoundedRangeComposition> Create(double range, std::int64_t count);

  // Requires: epsilon >= 0.
  Bracket DeltaForEpsilon(double epsilon) const;

 private:
  class Recursion;

  double step_ = 0;
  // At epsilon = i * step_: the recursion with t on the lattice alone, and with every t and a
  // piecewise linear majorant of delta as a function of e^epsilon.
  std::vector<double> lower_;
  std::vector<double> upper_;
};

}  // namespace submix::accounting
