// SubMix as published (arXiv 2201.00971v1, Algorithm 2), for comparison: research only.
//
//     hbar_i   = mean of part i's two halves
//     lambda_i = max { lambda <= 1 :
//                      D(lambda a_i + (1-lambda) h0 || lambda b_i + (1-lambda) h0) <= beta }
//     h        = lambda* hbar + (1 - lambda*) h0,     lambda*, hbar: means over the parts
//     charge_i = max of both directions of D(h || h'_i), h'_i the same with part i left out
//
// Why it is not sound: the charges are exact for this ensemble, so one part's charge depends on the
// others, and a stop that comes from private ledgers is an event of its own (Theorem 1, privacy.md
// on stopping).
//
// Numbers: lambda_i is feasible and within 1e-3 of the maximum (pair_weight.h); h and every h'_i
// become integers as by QuantiseLaw, each from its own real law, so that the laws compared are
// exactly the one sampled here and the ones that the same program would sample without the part.
// One part left out of one is the public model.
#pragma once

#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/shift_excess.h"

namespace submix::mechanism {

inline constexpr std::string_view kSubmixName = "submix";

class Submix final : public Mechanism {
 public:
  // Reads num_parts, order (>= 1) and target_leakage. Errors: kInvalidArgument.
  static base::StatusOr<std::unique_ptr<Submix>> Create(const MechanismOptions& options);

  std::string_view name() const override { return kSubmixName; }
  bool is_sound() const override { return false; }
  accounting::ChargeRule charge_rule() const override { return accounting::ChargeRule::kAllOrStop; }
  int halves() const override { return 2; }
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;
  // Ignores `remaining`. A part with a half that is not a pmf counts as twice the public model.
  // The proposal's mixture is the public model unless everybody paid.
  base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const override;

 private:
  explicit Submix(const MechanismOptions& options) : options_(options), kernel_(options.order) {}

  MechanismOptions options_;
  ShiftExcess kernel_;
};

}  // namespace submix::mechanism
