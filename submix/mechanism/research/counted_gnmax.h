// GNMax whose charges look at the votes: research. Either Theorem 6 of its paper (Papernot et al.
// 2018), or the exact divergence of the token's law without each part's vote. Both are functions
// of all parts, and so is the end that follows from them (docs/privacy.md, Theorem 11).
#pragma once

#include "submix/mechanism/baselines/gnmax.h"

namespace submix::mechanism {

class CountedGnmax final : public Gnmax {
 public:
  // As Gnmax::Create; accounting is published or leave-one-out.
  static base::StatusOr<std::unique_ptr<CountedGnmax>> Create(const MechanismOptions& options);

  bool is_sound() const override { return false; }
  accounting::ChargeRule charge_rule() const override { return accounting::ChargeRule::kAllOrStop; }
  bool has_constant_charge() const override { return false; }
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;

 private:
  using Gnmax::Gnmax;
  bool is_published() const { return options().accounting == ChargeAccounting::kPublished; }
  std::vector<accounting::FixedNats> Charges(const Votes& votes, std::size_t public_vote,
                                             std::size_t support_size) const override;
};

}  // namespace submix::mechanism
