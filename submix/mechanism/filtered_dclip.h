// Filtered DClip (Theorem 6): DClip in which every part pays for what it moves, not for the
// whole window, and shrinks what it adds to what it can still pay.
//
//     v_i = s_i clip(gamma log(p_i / h0), [-(1 - c) C, (1 + c) C]),   y ~ h0 exp((1/k) sum v_i)
//     charge_i = min( BR_a(eta_i), (a/2) e^(2S + a eta_i) Var_h0(v_i / k) )
//
// eta_i is the range of v_i / k, S = C (k-1) / k is half the width of what all others move, and s_i
// in [0, 1] is the largest with charge_i <= min(beta, remaining_i). Charge, scale and v_i are
// functions of part i, the public model and public constants alone.
#pragma once

#include "submix/mechanism/dclip.h"
#include "submix/mechanism/kernels/ratio_kernels.h"
#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

inline constexpr std::string_view kFilteredDClipName = "filtered-dclip";

// The spread of one part's log ratios over k, before it is scaled.
struct RatioSpread {
  double range = 0;     // largest less smallest, of all tokens and 0
  double variance = 0;  // under the public law
};

// What scale * v_i costs in nats if all others together move the log law by at most `others` in
// either direction: the smaller of Theorem 6's two bounds, rounding (PublicScores) included.
double SpreadCharge(const RatioSpread& spread, double scale, double others,
                    divergence::RenyiOrder order);

class FilteredDClip final : public Mechanism {
 public:
  // Reads num_parts, order (>= 1), clip, and target_leakage: the cap on a charge, and what one
  // answer of a part that uses the whole window C would cost (as in dclip). Errors:
  // kInvalidArgument.
  static base::StatusOr<std::unique_ptr<FilteredDClip>> Create(const MechanismOptions& options);

  std::string_view name() const override { return kFilteredDClipName; }
  bool is_sound() const override { return true; }
  double log_ratio_range() const override { return RangeOf(clip_); }
  double clip() const { return clip_; }
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;
  base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const override;

 private:
  FilteredDClip(const MechanismOptions& options, double clip);

  // Half the width of what the other parts move.
  double others() const { return clip_ * (options_.num_parts - 1) / options_.num_parts; }

  MechanismOptions options_;
  double clip_;
  RatioWindow window_;
  accounting::FixedNats largest_charge_;  // beta
};

}  // namespace submix::mechanism
