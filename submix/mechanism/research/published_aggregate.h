// Sample and aggregate as the SubMix paper counts it (Appendix B.3): research. Noise and charge are
// for a sensitivity of 1/k, half of what a changed pmf moves the mean by (docs/privacy.md, Theorem
// 12).
#pragma once

#include "submix/mechanism/baselines/sample_and_aggregate.h"

namespace submix::mechanism {

class PublishedAggregate final : public SampleAndAggregate {
 public:
  // Reads num_parts, order (>= 1) and target_leakage. Errors: as SampleAndAggregate::Create.
  static base::StatusOr<std::unique_ptr<PublishedAggregate>> Create(
      const MechanismOptions& options);

  bool is_sound() const override { return false; }
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;

 private:
  using SampleAndAggregate::SampleAndAggregate;
};

}  // namespace submix::mechanism
