// The public side of the mechanisms that add clipped log ratios (Theorems 6, 4): what a token
// weighs when nobody moves it, and how a sum of moves becomes an integer weight.
//
//     y(x) = S g(x) exp(sum of v_i(x) / k),   w = floor(y),   g = max(h0, a public floor),
//
// with |v_i| <= clip for every part. S and the floor are public constants chosen so that every
// weight is at least 2^20 - 1 and all weights together stay below 2^62. v_i is by definition the
// double that the program adds; only the sum, the exponential and the floor round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "submix/base/status.h"

namespace submix::mechanism {

// The largest clip, in nats: beyond it the floor would be felt (2^-41 e^(2 clip) a token).
inline constexpr double kLargestClip = 6;

// Rounding moves the log ratio of two neighbouring laws by at most this (a constant apart): one
// floor of a weight of at least 2^20, and the relative errors of both laws' scores. A range of log
// ratios grows by twice as much.
inline constexpr double kScoreRounding = 0x1p-20 + 0x1p-38;

// Immutable after construction.
class PublicScores {
 public:
  // Errors: kInvalidArgument if public_pmf is not a pmf, or has more than 2^20 tokens.
  // Requires: 0 <= clip <= kLargestClip.
  static base::StatusOr<PublicScores> Create(std::span<const double> public_pmf, double clip);

  std::size_t size() const { return scaled_.size(); }
  // [V]: S g.
  const double* scaled() const { return scaled_.data(); }
  // [V]: 1 / (2 h0), so that (first half + second half) times it is the part's ratio.
  const double* half_inverse() const { return half_inverse_.data(); }
  // Sum of S g.
  double total() const { return total_; }

 private:
  PublicScores() = default;

  std::vector<double> scaled_;
  std::vector<double> half_inverse_;
  double total_ = 0;
};

}  // namespace submix::mechanism
