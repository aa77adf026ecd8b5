// The public model alone: what the other mechanisms are measured against, and what they become when
// nobody can pay. No part contributes anything, so every token costs nothing.
#pragma once

#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

inline constexpr std::string_view kPublicModelName = "public";

class PublicModel final : public Mechanism {
 public:
  // Reads num_parts and order. Errors: kInvalidArgument.
  static base::StatusOr<std::unique_ptr<PublicModel>> Create(const MechanismOptions& options);

  std::string_view name() const override { return kPublicModelName; }
  bool is_sound() const override { return true; }
  // Zero nats, at order infinity too, whatever the budget.
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;
  // Reads the public pmf alone.
  base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const override;

 private:
  explicit PublicModel(const MechanismOptions& options) : options_(options) {}

  MechanismOptions options_;
};

}  // namespace submix::mechanism
