// Filtered SubMix: the sound mechanism (Theorems 1, 2, 4). Every part is mixed with the public
// model as far as its own target and its own remaining budget allow, pays the worst case over
// everything the other parts may contribute, and sits the token out if it cannot.
//
//     m_i = lambda_i p_i + (1 - lambda_i) h0,    h = (1/k) sum m_i,
//     lambda_i = max { lambda <= max_mixing_weight : charge_i(lambda) <= min(beta, remaining_i) }
//
// p_i is the part's pmf: its member's, or the mean of its two halves. lambda_i, the charge and the
// integers that are sampled are functions of part i, the public model and public constants alone.
#pragma once

#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/mixing_scale.h"
#include "submix/mechanism/shift_excess.h"

namespace submix::mechanism {

inline constexpr std::string_view kFilteredSubmixName = "filtered-submix";

class FilteredSubmix final : public Mechanism {
 public:
  // Errors: kInvalidArgument for options out of range; orders below 1 have no charge.
  static base::StatusOr<std::unique_ptr<FilteredSubmix>> Create(const MechanismOptions& options);

  std::string_view name() const override { return kFilteredSubmixName; }
  bool is_sound() const override { return true; }
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;
  base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const override;

 private:
  explicit FilteredSubmix(const MechanismOptions& options);

  MechanismOptions options_;
  accounting::FixedNats largest_charge_;  // beta
  ShiftExcess kernel_;
  ScaleSolver solver_;
};

}  // namespace submix::mechanism
