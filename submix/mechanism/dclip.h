// DClip with public support (InvisibleInk's rule over an ensemble; Theorem 6): every part's log
// ratio to the public model is clipped, the mean of the clipped ratios moves the public logits.
//
//     v_i = clip(gamma log(p_i / h0), [-(1 - c) C, (1 + c) C]),   y ~ h0 exp((1/k) sum v_i)
//
// gamma and c are ClipOptions'. A part moves the law's log ratio by a range of at most 2 C / k, so
// that every token costs every part the same public constant. How many tokens are left is public,
// and a fixed number of them holds at all orders at once. Temperature acts before: p_i and h0 are
// the tempered pmfs, and C is in tempered nats. Pmfs are normalised, which centres each part's
// difference of logits.
#pragma once

#include "submix/mechanism/kernels/ratio_kernels.h"
#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

inline constexpr std::string_view kDClipName = "dclip";

// The largest clip C <= kLargestClip with a charge of at most `limit_nats` for each of `num_parts`
// parts, or a negative number if even C = 0 costs more.
double LargestClip(int num_parts, divergence::RenyiOrder order, double limit_nats);

// Where gamma log(p_i / h0) is kept, as a window of p_i / h0.
RatioWindow WindowOf(const ClipOptions& options, double clip);
// The most that a v_i is away from 0.
double ReachOf(const ClipOptions& options, double clip);
// Mechanism::log_ratio_range: the window's width, rounding included.
double RangeOf(double clip);

class DClip final : public Mechanism {
 public:
  // Reads num_parts, order (>= 1), clip, and target_leakage, from which C follows. Errors:
  // kInvalidArgument, also for a target leakage that the rounding alone exceeds.
  static base::StatusOr<std::unique_ptr<DClip>> Create(const MechanismOptions& options);

  std::string_view name() const override { return kDClipName; }
  bool is_sound() const override { return true; }
  bool has_constant_charge() const override { return true; }
  double log_ratio_range() const override { return RangeOf(clip_); }
  // C, in nats: half the window's width.
  double clip() const { return clip_; }
  // Of every part, for every token.
  accounting::FixedNats charge() const { return charge_; }
  // With the bounds that budget / charge tokens have at other orders, and at user level.
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;
  // Ignores `remaining`: the charge is a constant. A member's value that is no probability counts
  // as the low end of the window.
  base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const override;

 private:
  DClip(const MechanismOptions& options, double clip);

  MechanismOptions options_;
  double clip_;
  RatioWindow window_;
  accounting::FixedNats charge_;
};

}  // namespace submix::mechanism
