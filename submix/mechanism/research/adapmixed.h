// AdaPMixED (Flemings, Jiang, Zhang, Rahman, Zhang 2024): research.
//
// A noisy comparison (noisy_screen.h; the noise before normalising, which the authors' program has
// the other way round) answers from the public model where the ensemble is too far from it to be
// cheap. Elsewhere the mean of all parts, each in PMixED's ball of ball_radius nats, answers, and
// costs every part the largest exact divergence that leaving one part out makes:
//
//     charge = max over i of D^sym_a(p || p_{-i}),   p_{-i} the mean of the other parts
//
// With published accounting it is PMixED behind the screen (the same paper's "PMixED with noisy
// screening"): what the screen lets pass costs every part PMixED's published share.
//
// Why it is not sound: that charge is a function of all parts, and so private, and the end of the
// budget is an event that nobody pays for (Theorem 1, privacy.md on stopping). The spent amount is
// private too, and no smooth sensitivity makes it publishable at less noise than its own worst
// case: one part that leaves an ensemble in agreement raises every token's charge at once
// (docs/privacy.md).
#pragma once

#include "submix/mechanism/baselines/noisy_screen.h"
#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/research/published_pmixed.h"
#include "submix/mechanism/shift_excess.h"

namespace submix::mechanism {

inline constexpr std::string_view kAdaPMixedName = "adapmixed";

class AdaPMixed final : public Mechanism {
 public:
  // Reads num_parts, order (>= 1, finite), screen, accounting (default or published), and
  // ball_radius or, with published accounting, what PublishedPMixed reads. Errors:
  // kInvalidArgument.
  static base::StatusOr<std::unique_ptr<AdaPMixed>> Create(const MechanismOptions& options);

  std::string_view name() const override { return kAdaPMixedName; }
  bool is_sound() const override { return false; }
  accounting::ChargeRule charge_rule() const override { return accounting::ChargeRule::kAllOrStop; }
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;
  // Ignores `remaining`.
  base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const override;

 private:
  AdaPMixed(const MechanismOptions& options, NoisyScreen screen,
            std::unique_ptr<PublishedPMixed> published);

  // The answer of a query that the screen let pass, or the public model's, free of charge.
  base::StatusOr<std::unique_ptr<Proposal>> ProposeToken(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      bool is_too_dear, base::ReleaseId release_id) const;

  MechanismOptions options_;
  NoisyScreen screen_;
  ShiftExcess kernel_;
  std::unique_ptr<PublishedPMixed> published_;  // with published accounting; else null
};

}  // namespace submix::mechanism
