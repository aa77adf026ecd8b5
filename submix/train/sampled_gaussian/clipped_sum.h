// The private step of DP-SGD, DP-FedAvg and DP-FedSGD (Abadi et al. 2016; McMahan et al. 2018,
// Algorithm 1): the sum of the users' clipped, weighted gradients or updates, which nobody can read
// without noise, and no noise is drawn without a receipt. Torch-free.
//
// Updates are clipped to norm S, weighted, and rounded toward zero to multiples of S 2^-40: the
// integers add up exactly, so that the sum is the same in whatever order, on however many threads
// or machines it is formed, and one user moves it by at most w S in L2, rounding included. The
// average and the noise are rounded to one grid of 2^-36 times the sensitivity: the result is a
// function of (an integer vector + the real noise) and costs what the Gaussian mechanism costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "submix/base/random.h"
#include "submix/ledger/receipt.h"
#include "submix/train/kernels/parameter_vectors.h"
#include "submix/train/kernels/ranks.h"

namespace submix::train {

// The shortest norm S that noise is scaled by is 1 over this, the longest.
inline constexpr double kLongestClip = 1e30;

// How a user's update is kept within norm S (McMahan et al. 2018, Section 2).
struct UpdateClipping {
  double norm = std::numeric_limits<double>::infinity();  // S; infinity: no clipping
  // false: the whole update is scaled to S (flat). true: each of the m parameter vectors is scaled
  // to S / sqrt(m), so that the whole again has norm S at most.
  bool per_layer = false;

  bool operator==(const UpdateClipping&) const = default;
};

// By how much each vector of an update must be multiplied: at most 1. The L2 norms are summed in
// double, relative error below 1e-9; what is left stays a millionth below the bound, more than all
// roundings of float32 add. A vector whose norm is not finite makes all factors 0, whether or not
// there is a bound.
std::vector<double> ClippingFactors(const UpdateClipping& clipping, const ParameterVectors& vectors,
                                    std::span<const float> update);

// The two estimators of the average update, sum w_k D_k / (q W) and
// sum w_k D_k / max(q W_min, sum w_k).
struct AverageEstimator {
  bool clipped_divisor = false;
  double sampling_probability = 1;  // q
  double weight = 1;                // W or W_min; public

  // Lemma 1, as accounting/dp_fedavg.h has it.
  double Sensitivity(double clip_norm) const;
};

// One thread at a time.
class ClippedSum {
 public:
  // What the grid is made for: so many updates of at most 2^40 units each stay below 2^63. Beyond
  // it the integers might wrap, and one user would move the sum by more than S.
  static constexpr std::int64_t kMostUpdates = (std::int64_t{1} << 22) - 1;
  // Of them expected in a batch that is drawn, so that none comes near that.
  static constexpr double kMostExpected = static_cast<double>(kMostUpdates) / 2;

  // Requires: clipping.norm > 0.
  ClippedSum(ParameterVectors vectors, const UpdateClipping& clipping);
  // Of vectors of `size` numbers, clipped as a whole.
  ClippedSum(std::size_t size, double clip_norm);

  // Back to zero.
  void Clear();
  // Back to zero, from now on with this clipping.
  void Clear(const UpdateClipping& clipping);
  // Adds weight * update, clipped. The weight is rounded down to a multiple of 2^-20. An update
  // with a number that is not finite adds its weight and zeros: a function of this user alone.
  // Requires: 0 <= weight <= 1; at most kMostUpdates updates between Clear, in all sums that are
  // added up.
  void Add(std::span<const float> update, double weight = 1);
  // Adds everything that another sum of the same clipping holds.
  void Add(const ClippedSum& other);
  // Collective: the root's sum becomes that of all ranks' sums, which have the same clipping.
  void SumToRoot(Ranks& ranks);

  // The average plus noise of noise_multiplier times the estimator's sensitivity on every number,
  // drawn from `random`. Consumes the step's receipt: without one that was paid there is no
  // result. Requires: a valid receipt of one account that paid; a finite clipping norm;
  // 0 <= noise_multiplier <= 2^20.
  void Release(const AverageEstimator& estimator, double noise_multiplier, ledger::Receipt receipt,
               base::RandomSource& random, std::span<float> average) const;
  // The average itself: for baselines without privacy.
  void ReleaseWithoutPrivacy(const AverageEstimator& estimator, std::span<float> average) const;

 private:
  std::size_t size() const { return vectors_.back().end; }
  void CheckCount() const;
  double Divisor(const AverageEstimator& estimator) const;

  const ParameterVectors vectors_;
  UpdateClipping clipping_;
  double unit_ = 0;  // of the sum
  // The sum, [N]; behind it the sum of the weights, in units of 2^-20, and the number of updates.
  std::vector<std::int64_t> sum_;
};

}  // namespace submix::train
