// Probabilities as integers with one common total and a public floor (Theorem 4), so that the
// law that is sampled is exactly the law that is accounted.
//
//     w_0   the public model's integers: w_0 >= 1, sum W
//     u     the public floor: max(1, floor(f w_0)) <= w_0, f = 1 - max_mixing_weight
//     w_i   part i's: w_i >= u, sum W; a function of the part's pmf, its scale, w_0 and f alone
//
// A part at scale s in [0, 1], that is at mixing weight s * max_mixing_weight, has
//     w_i = w_0 + floor(s * direction_i),   direction_i = (W - sum u) p_i - (w_0 - u),
// and what rounding down leaves goes to the token that the public model likes best. So w_i = w_0 at
// scale 0, and w_i >= u holds by construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "submix/base/status.h"
#include "submix/mechanism/kernels/shift_kernels.h"

namespace submix::mechanism {

// W: the sum of every part's weights.
inline constexpr std::int64_t kTotalWeight = std::int64_t{1} << 48;
// The largest k with k W < 2^63.
inline constexpr int kMaxParts = (1 << 15) - 1;

// True if no value is NaN or negative and the sum is within divergence::kPmfSumTolerance of 1.
bool IsPmf(std::span<const double> pmf);
// The same, of what CheckedSum said.
bool SumsToOne(double checked_sum);
// Errors: kInvalidArgument if the public model's predictions are not a pmf.
base::Status CheckPublicPmf(std::span<const double> public_pmf);

// The factor of a law with this sum before it is rounded down: the floors of factor * law sum to at
// most `total`, even if every value of the law is off by 2 roundings. Requires: V <= 2^32.
double ScaleBelow(double total, double sum, std::size_t support_size);

// Integers >= 1 with sum W: 1 + floor((W - V) pmf), the remainder on `remainder_token`.
// Requires: IsPmf(pmf), remainder_token < V = pmf.size() = weights.size() <= 2^32.
void QuantiseLaw(std::span<const double> pmf, std::size_t remainder_token,
                 std::span<std::uint64_t> weights);

// w_0, u and what follows from them; public. Immutable; thread-safe; moved without copying arrays.
class PublicWeights {
 public:
  // Errors: kInvalidArgument if public_pmf is not a pmf.
  // Requires: 1 <= num_parts <= kMaxParts, 0 < max_mixing_weight <= 1.
  static base::StatusOr<PublicWeights> Create(std::span<const double> public_pmf, int num_parts,
                                              double max_mixing_weight);

  std::size_t size() const { return weights_.size(); }
  int num_parts() const { return num_parts_; }
  // [V]: w_0.
  const std::vector<std::uint64_t>& weights() const { return weights_; }
  // The same, out of an object that is not used any more.
  std::vector<std::uint64_t> TakeWeights() && { return std::move(weights_); }
  // [V, padded]: w_0 - u, by which a part may lower a token; padding 0.
  const double* room() const { return room_.get(); }
  // [V, padded]: w_0 + (k - 1) u, the least k W h'(x) can be with this part replaced by the public
  // model; padding 1. As a double, so rounded to 53 bits.
  const double* least_rest() const { return least_rest_.get(); }
  // W - sum u.
  double spare() const { return spare_; }
  // k W.
  double total() const { return static_cast<double>(num_parts_) * kTotalWeight; }
  // 1 + (k - 1) f: how many times the public model is surely in the ensemble (Theorem 2's c).
  double floor_count() const { return floor_count_; }
  // argmax w_0, the first one.
  std::size_t top_token() const { return top_token_; }

 private:
  PublicWeights() = default;

  int num_parts_ = 0;
  std::vector<std::uint64_t> weights_;
  std::unique_ptr<double[]> room_;
  std::unique_ptr<double[]> least_rest_;
  double spare_ = 0;
  double floor_count_ = 0;
  std::size_t top_token_ = 0;
};

// The direction in which one part moves the public weights: towards the mean of `first` and
// `second` (twice the same for a part of one member). A view of the pmfs and of `base`'s arrays,
// which outlive it; `base` itself may move.
class PartDirection {
 public:
  // Takes both for pmfs, with sums of exactly 1. Requires: sizes as base.
  PartDirection(const PublicWeights& base, std::span<const double> first,
                std::span<const double> second);

  // What one pass over the members tells: the first moments of the direction against
  // base.least_rest(), `moments` of all tokens and `fall_moments` of those that fall, and the sums
  // of the members.
  MomentLanes Measure(const PublicWeights& base, int moments, int fall_moments) const;
  // The same direction once that is known: normalised, or null if one half is not a pmf. A null
  // direction is as much work as any other, on numbers that do no harm (`public_pmf`), and only
  // scale 0 makes sense.
  PartDirection Checked(const PublicWeights& base, std::span<const double> public_pmf,
                        const MomentLanes& measured) const;
  bool is_null() const { return is_null_; }

  // block[0 .. count) = scale * direction from token `begin` on, then zeros up to a whole number of
  // lanes. Requires: block has room for them.
  void Fill(std::size_t begin, std::size_t count, double scale, double* block) const;
  // The same, rounded down; returns the sum.
  std::int64_t FillFloors(std::size_t begin, std::size_t count, double scale, double* block) const;
  // weights[0 .. count) += floor(scale * direction) from token `begin` on, the same numbers.
  // Requires: no sum below 0.
  void AddFloors(std::size_t begin, std::size_t count, double scale, std::uint64_t* weights) const;

 private:
  MemberBlock Block(std::size_t begin) const {
    return {first_ + begin, second_ + begin, room_ + begin, pmf_scale_};
  }

  const double* first_;
  const double* second_;
  const double* room_;
  double pmf_scale_;
  bool is_null_ = false;
};

}  // namespace submix::mechanism
