// PMixED (Flemings, Razaviyayn, Annavaram 2024): every part is pulled into a
// ball around the public model, a secret random subset of the parts answers with its mean.
//
//     m_i = lambda_i p_i + (1 - lambda_i) h0 in a ball,   S ~ each part with probability p,
//     y ~ mean of m_i over S, or h0 if S is empty
//
// Three ways to count:
//   published      (research) every answer costs target_leakage at the declared order; the ball has
//                  the radius that the paper's accounting gives to a subset of the drawn size.
//   leave-one-out  (research) the exact divergence, for this ensemble, between the law and the one
//                  with the part replaced by the public model. Needs ball_radius.
//   worst-case     (sound) the max-divergence ball whose constant charge is target_leakage. One
//                  radius for every size of the subset.
//
// Why the last two need no amplification lemma: the subset is secret, drawn anew for every token
// and independent of all data, so by symmetry a token's law is exactly
//     (1 - q) h0 + q (1/k) sum m_i,   q = 1 - (1 - p)^k.
// The same holds with part i null. So the charge of that law is the charge (Theorem 7).
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "submix/accounting/fixed_nats.h"
#include "submix/mechanism/ball_laws.h"
#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/shift_excess.h"

namespace submix::mechanism {

inline constexpr std::string_view kPMixedName = "pmixed";

class PMixed final : public Mechanism {
 public:
  // Reads num_parts, order (>= 1; an integer >= 2 as published), target_leakage,
  // sampling_probability, accounting and ball_radius. Errors: kInvalidArgument.
  static base::StatusOr<std::unique_ptr<PMixed>> Create(const MechanismOptions& options);

  std::string_view name() const override { return kPMixedName; }
  bool is_sound() const override { return options_.accounting == ChargeAccounting::kWorstCase; }
  accounting::ChargeRule charge_rule() const override;
  bool has_constant_charge() const override { return is_sound(); }
  int halves() const override { return 1; }
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;
  // Ignores `remaining`.
  base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const override;

  // The radius of the ball for a subset of so many parts, in nats.
  double radius(int subset_size) const { return radii_[static_cast<std::size_t>(subset_size)]; }

 private:
  PMixed(const MechanismOptions& options, std::vector<double> radii, accounting::FixedNats charge);

  friend class PMixedProposal;

  // q: the probability that somebody is drawn.
  double AnswerWeight() const;
  LawWeights PartLaw(const BallLaws& laws, int part, std::size_t subset_size) const;
  std::vector<accounting::FixedNats> LeaveOneOutCharges(const BallLaws& laws) const;

  MechanismOptions options_;
  std::vector<double> radii_;     // [k + 1], by size of the subset
  accounting::FixedNats charge_;  // of every answer; not for leave-one-out
  ShiftExcess kernel_;
};

}  // namespace submix::mechanism
