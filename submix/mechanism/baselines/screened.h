// A public token, cheaply, where the ensemble has nothing to add (Theorem 8): a noisy comparison
// (noisy_screen.h) stands in front of a sound mechanism. Where it shows a divergence of at most the
// threshold the public model answers and only the comparison was paid; elsewhere the mechanism
// behind it answers, at its own charge.
//
// Every token that is asked pays for its comparison before the noise is drawn, with fresh noise. A
// part that cannot pay for the comparison takes no part in the answer either. The comparison's
// outcome is not secret: the proof holds with it shown.
#pragma once

#include "submix/mechanism/baselines/noisy_screen.h"
#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

inline constexpr std::string_view kScreenedName = "screened";

// A proposal from which some parts were taken out: they pay nothing and the public model stands in
// for them, with the same work as if they took part.
class MaskedProposal final : public Proposal {
 public:
  // Requires: takes_part.size() == K, !proposal->leads_to_screen().
  MaskedProposal(std::unique_ptr<Proposal> proposal, std::vector<bool> takes_part);

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource& random) && override;

 private:
  std::unique_ptr<Proposal> proposal_;
  std::vector<bool> takes_part_;  // [K]
};

class Screened final : public Mechanism {
 public:
  // Reads num_parts, order, target_leakage, screen, screened_mechanism and its options. The
  // mechanism behind has what of target_leakage the dearest comparison leaves, so that one token
  // costs at most target_leakage in all. Errors: kInvalidArgument, also if nothing is left.
  static base::StatusOr<std::unique_ptr<Screened>> Create(const MechanismOptions& options);

  std::string_view name() const override { return kScreenedName; }
  bool is_sound() const override { return true; }
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;
  base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const override;

 private:
  Screened(const MechanismOptions& options, NoisyScreen screen, std::unique_ptr<Mechanism> behind)
      : options_(options), screen_(std::move(screen)), behind_(std::move(behind)) {}

  MechanismOptions options_;
  NoisyScreen screen_;
  std::unique_ptr<Mechanism> behind_;
};

}  // namespace submix::mechanism
