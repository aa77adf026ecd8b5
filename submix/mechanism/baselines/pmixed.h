// PMixED with a charge that holds for every data set (Theorem 7): every part is pulled into the
// max-divergence ball around the public model, and a secret random subset of the parts answers with
// its mean (secret_subset.h). The radius, one for every size of the subset, is the largest whose
// constant charge is target_leakage.
//
//     m_i = lambda_i p_i + (1 - lambda_i) h0 in the ball
//
// The paper's own accounting, and the exact divergences of the ensemble at hand, are research
// (research/published_pmixed.h).
#pragma once

#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

inline constexpr std::string_view kPMixedName = "pmixed";

class PMixed final : public Mechanism {
 public:
  // Reads num_parts, order (>= 1), target_leakage, sampling_probability and accounting. Errors:
  // kInvalidArgument, also for an accounting other than worst-case.
  static base::StatusOr<std::unique_ptr<PMixed>> Create(const MechanismOptions& options);

  std::string_view name() const override { return kPMixedName; }
  bool is_sound() const override { return true; }
  bool has_constant_charge() const override { return true; }
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;
  // Ignores `remaining`.
  base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const override;

  // Of the ball, in nats.
  double radius() const { return radius_; }

 private:
  PMixed(const MechanismOptions& options, double radius, accounting::FixedNats charge);

  MechanismOptions options_;
  double radius_;
  accounting::FixedNats charge_;  // of every token
};

}  // namespace submix::mechanism
