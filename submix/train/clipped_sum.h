// The private step of DP-SGD (Abadi et al. 2016, with one user as one example): a sum of clipped
// gradients that nobody can read without noise, and no noise is drawn without a receipt.
// Torch-free.
//
// Each gradient is clipped to norm C and rounded toward zero to multiples of C 2^-32; the integers
// add up exactly. So adding or removing one user moves the sum by at most C in L2, rounding
// included, whatever the others are and in whatever order they come. Noise of standard deviation
// z C is rounded to the same grid: the result is a function of (the integers + the real noise), and
// costs what the Gaussian mechanism costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "submix/base/random.h"
#include "submix/ledger/receipt.h"

namespace submix::train {

// One thread at a time.
class ClippedSum {
 public:
  // Of vectors of `size` numbers. Requires: clip_norm > 0 and finite.
  ClippedSum(std::size_t size, double clip_norm);

  // Back to zero.
  void Clear();
  // Adds gradient * min(1, C / |gradient|). One with a number that is not finite adds nothing: that
  // is a function of this user alone, and as short as any. Requires: `size` numbers; fewer than
  // 2^30 calls between Clear.
  void Add(std::span<const float> gradient);
  // (sum + noise) / divisor, with noise of noise_multiplier * C on every number, drawn from
  // `random`. Consumes a receipt for this step: without one that was paid there is no result.
  // Requires: a valid receipt of one account that paid; 0 <= noise_multiplier <= 2^20; divisor > 0;
  // `size` numbers of space.
  void Release(double noise_multiplier, double divisor, ledger::Receipt receipt,
               base::RandomSource& random, std::span<float> result) const;

 private:
  const double clip_norm_;
  std::vector<std::int64_t> sum_;  // in units of C 2^-32
};

}  // namespace submix::train
