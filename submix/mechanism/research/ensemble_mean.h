// The plain mean of all members: what the ensemble would say without privacy. For evaluation and
// attacks only. It charges what no budget can hold, so that no ledger ever grants it, and a
// proposal that nobody paid for is the public model; the operator's evaluation takes everybody
// instead (OperatorView::Participants). Deployments refuse it.
#pragma once

#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

inline constexpr std::string_view kEnsembleMeanName = "ensemble";

class EnsembleMean final : public Mechanism {
 public:
  // Reads num_parts and order. Errors: kInvalidArgument.
  static base::StatusOr<std::unique_ptr<EnsembleMean>> Create(const MechanismOptions& options);

  std::string_view name() const override { return kEnsembleMeanName; }
  bool is_sound() const override { return false; }
  bool is_private() const override { return false; }
  // Infinity, whatever the budget.
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;
  base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const override;

 private:
  explicit EnsembleMean(const MechanismOptions& options) : options_(options) {}

  MechanismOptions options_;
};

}  // namespace submix::mechanism
