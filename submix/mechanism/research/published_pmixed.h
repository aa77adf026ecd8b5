// PMixED (Flemings, Razaviyayn, Annavaram 2024) as its paper counts, and by exact divergences:
// research. Every part is pulled into PMixED's ball around the public model, a secret subset
// answers (secret_subset.h).
//
//   published      every token costs target_leakage at the declared order; the ball has the radius
//                  that the paper's accounting gives to a subset of the drawn size.
//   leave-one-out  the exact divergence, for this ensemble, between the law and the one with the
//                  part replaced by the public model. Needs ball_radius.
//
// Why neither is sound: docs/privacy.md, Theorem 7.
#pragma once

#include "submix/mechanism/baselines/ball_laws.h"
#include "submix/mechanism/baselines/pmixed.h"
#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/shift_excess.h"

namespace submix::mechanism {

// A part in PMixED's ball: m = lambda p + (1 - lambda) h0 with the largest lambda <= 1 at which
// both directions of its divergence from the public law are at most `radius` nats at the kernel's
// order, before rounding to integers. A part that is no pmf is the public law.
LawWeights RenyiBallLaw(const BallLaws& laws, int part, const ShiftExcess& kernel, double radius);

class PublishedPMixed final : public Mechanism {
 public:
  // Reads num_parts, order (>= 1; a whole number from 2 to 256 as published), target_leakage,
  // sampling_probability, accounting (default is published) and ball_radius. Errors:
  // kInvalidArgument.
  static base::StatusOr<std::unique_ptr<PublishedPMixed>> Create(const MechanismOptions& options);

  std::string_view name() const override { return kPMixedName; }
  bool is_sound() const override { return false; }
  accounting::ChargeRule charge_rule() const override { return accounting::ChargeRule::kAllOrStop; }
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;
  // Ignores `remaining`.
  base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const override;

  // The radius of the ball for a subset of so many parts, in nats.
  double radius(int subset_size) const { return radii_[static_cast<std::size_t>(subset_size)]; }

 private:
  PublishedPMixed(const MechanismOptions& options, std::vector<double> radii);

  std::vector<accounting::FixedNats> LeaveOneOutCharges(const BallLaws& laws) const;

  MechanismOptions options_;
  std::vector<double> radii_;  // [k + 1], by size of the subset
  ShiftExcess kernel_;
};

}  // namespace submix::mechanism
