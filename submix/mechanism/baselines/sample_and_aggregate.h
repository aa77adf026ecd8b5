// Sample and aggregate (the SubMix paper's baseline, its Appendix B.3): the mean of the parts'
// pmfs, Laplace noise on every token, clipped at 0, normalised, sampled.
//
// Sensitivity. A pmf that is changed in any way moves the mean by at most 2/k in the sum of
// absolute differences: 1/k up on some tokens and 1/k down on others. The paper's 1/k is that of a
// pmf that is replaced by zeros with the divisor kept, which leaves no pmf; its noise is too small
// by half.
//
// What a token costs, by options.accounting:
//   default, worst-case   a constant: twice the divergence of noise shifted by 1/k. Sound.
//   leave-one-out         per part, exactly what its pmf moves the mean from where the public model
//                         would: the sum over tokens of the divergence of the noise shifted by
//                         |p_i - h0| / k. Noise is added to a sum, so the others do not matter, and
//                         Theorem 1's filter applies: sound.
// The paper's own noise and charge, for 1/k, are research (research/published_aggregate.h).
//
// Numbers: every part contributes whole numbers with sum 2^28, the noise is discrete Laplace of a
// whole scale; weights below one unit count as one, so that no token is impossible. What was drawn
// stays sealed in the mixture. The noise is as large as the whole vocabulary times its scale: the
// mechanism is here to be compared with.
#pragma once

#include <cstdint>

#include "submix/mechanism/baselines/discrete_noise.h"
#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

inline constexpr std::string_view kSampleAndAggregateName = "sample-and-aggregate";

class SampleAndAggregate : public Mechanism {
 public:
  // The sum of a part's whole numbers: the sensitivity of the sum, up and down.
  static constexpr std::uint64_t kPartWeight = std::uint64_t{1} << 28;
  // How often a changed pmf moves the sum by kPartWeight at most: up and down.
  static constexpr double kMoves = 2;

  // Reads num_parts, order (>= 1), target_leakage and accounting. Errors: kInvalidArgument, also
  // for the published accounting and a target leakage that needs more noise than 2^47 units.
  static base::StatusOr<std::unique_ptr<SampleAndAggregate>> Create(
      const MechanismOptions& options);

  std::string_view name() const override { return kSampleAndAggregateName; }
  bool is_sound() const override { return true; }
  bool has_constant_charge() const override {
    return options_.accounting != ChargeAccounting::kLeaveOneOut;
  }
  // Scale of the noise on the sum of the parts' whole numbers.
  std::uint64_t noise_scale() const { return noise_scale_; }
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override;
  // Ignores `remaining`. Mix draws noise for every token: about 0.2 microseconds each.
  base::StatusOr<std::unique_ptr<Proposal>> Propose(
      const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId release_id) const override;

 protected:
  // `moves`: how many shifts by kPartWeight a token is charged for.
  SampleAndAggregate(const MechanismOptions& options, std::uint64_t noise_scale, double moves);
  // The least that keeps a token within target_leakage. Errors: as Create.
  static base::StatusOr<std::uint64_t> NoiseScaleFor(const MechanismOptions& options, double moves);
  const MechanismOptions& options() const { return options_; }

 private:
  // Theorem 1's charge of one part for this token.
  accounting::FixedNats ExactCharge(std::span<const std::uint64_t> weights,
                                    std::span<const std::uint64_t> public_weights) const;

  MechanismOptions options_;
  std::uint64_t noise_scale_;
  DiscreteLaplaceDivergence divergence_;
  accounting::FixedNats charge_;  // the constant one
};

}  // namespace submix::mechanism
