// Gaussian noise for private training, from the caller's random source. Torch-free.
//
// Box and Muller's pairs in long double, from uniforms that stay fine at both ends, tails to 13
// standard deviations included: a draw is within 2^-59 of its pair's radius of what exact
// arithmetic would make of continuous uniforms (derived in docs/privacy.md, Theorem 14). Add it to
// numbers on a much coarser grid and round (clipped_sum.h), so that a released number shows nothing
// of how floating point is spaced (Mironov 2012).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "submix/base/random.h"

namespace submix::train {

// One thread at a time. Draws ahead from its source, and overwrites what it held when it goes: who
// knows the noise knows the sum.
class GaussianNoise {
 public:
  // `random` must outlive it.
  explicit GaussianNoise(base::RandomSource& random) : random_(random) {}
  GaussianNoise(const GaussianNoise&) = delete;
  GaussianNoise& operator=(const GaussianNoise&) = delete;
  ~GaussianNoise();

  // From the standard normal law, independent of all others.
  long double Next();

 private:
  std::uint64_t NextBits();

  base::RandomSource& random_;
  std::array<std::uint64_t, 512> bits_{};
  std::size_t used_ = 512;
  long double second_ = 0;
  bool has_second_ = false;
};

}  // namespace submix::train
