#include "submix/mechanism/baselines/sample_and_aggregate.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "submix/base/check.h"
#include "submix/base/number_text.h"
#include "submix/mechanism/baselines/constant_charge.h"
#include "submix/mechanism/baselines/part_law.h"
#include "submix/mechanism/kernels/weight_kernels.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {
namespace {

using accounting::FixedNats;
using divergence::RenyiOrder;

using Weights = std::vector<std::uint64_t>;  // [V]

// `moves` shifts by kPartWeight.
double MovesNats(double moves, std::uint64_t noise_scale, RenyiOrder order) {
  return moves *
         DiscreteLaplaceDivergence({noise_scale, 1}, order)(SampleAndAggregate::kPartWeight);
}

Weights LawOf(const PartPmf& pmf, std::size_t support_size, std::size_t top) {
  Weights weights(support_size);
  pmf.AddTo(weights, SampleAndAggregate::kPartWeight, top);
  return weights;
}

class NoisyMeanProposal final : public Proposal {
 public:
  NoisyMeanProposal(base::ReleaseId release_id, std::vector<FixedNats> charges,
                    const PartPredictions& predictions, std::uint64_t noise_scale)
      : Proposal(release_id, std::move(charges)),
        predictions_(predictions),
        noise_scale_(noise_scale) {}

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource& random) && override {
    SUBMIX_CHECK(paid.size() == charges().size(), "who paid: one answer a part");
    const std::size_t support_size = predictions_.support_size();
    const std::size_t top = LargestIndex(predictions_.public_pmf.data(), support_size);
    Weights weights(support_size);
    for (std::size_t part = 0; part < paid.size(); ++part) {
      const PartPmf own(predictions_, static_cast<int>(part));
      const PartPmf absent(predictions_);
      (paid[part] ? own : absent).AddTo(weights, SampleAndAggregate::kPartWeight, top);
    }
    // All weights together must stay below 2^63. Sums are below 2^43, noise below 2^62.
    const std::int64_t largest = (std::int64_t{1} << 62) / static_cast<std::int64_t>(support_size);
    bool is_clipped = true;
    for (std::uint64_t& weight : weights) {
      const std::int64_t noisy =
          static_cast<std::int64_t>(weight) + DrawDiscreteLaplace(random, {noise_scale_, 1});
      is_clipped = is_clipped && noisy <= 0;
      weight = static_cast<std::uint64_t>(std::clamp<std::int64_t>(noisy, 1, largest));
    }
    if (is_clipped) QuantiseLaw(predictions_.public_pmf, top, weights);
    return PrivateMixture(release_id(), std::move(weights), PaidCharges(paid));
  }

 private:
  PartPredictions predictions_;
  std::uint64_t noise_scale_;
};

}  // namespace

base::StatusOr<std::unique_ptr<SampleAndAggregate>> SampleAndAggregate::Create(
    const MechanismOptions& options) {
  if (options.accounting == ChargeAccounting::kPublished) {
    return base::InvalidArgumentError(
        "accounting: sample-and-aggregate as published is research; it has default, worst-case "
        "and leave-one-out");
  }
  SUBMIX_ASSIGN_OR_RETURN(const std::uint64_t noise_scale, NoiseScaleFor(options, kMoves));
  return std::unique_ptr<SampleAndAggregate>(new SampleAndAggregate(options, noise_scale, kMoves));
}

base::StatusOr<std::uint64_t> SampleAndAggregate::NoiseScaleFor(const MechanismOptions& options,
                                                                double moves) {
  SUBMIX_RETURN_IF_ERROR(CheckMechanismOptions(options));
  const FixedNats limit = FixedNats::RoundDown(options.target_leakage);
  const auto is_enough = [&](std::uint64_t noise_scale) {
    return FixedNats::RoundUp(MovesNats(moves, noise_scale, options.order)) <= limit;
  };
  if (!is_enough(kLargestLaplaceTerm)) {
    return base::InvalidArgumentError(
        "target leakage (beta): sample-and-aggregate needs at least " +
        base::NumberText(MovesNats(moves, kLargestLaplaceTerm, options.order)) + " nats, found " +
        base::NumberText(options.target_leakage));
  }
  std::uint64_t too_small = 0;
  std::uint64_t enough = kLargestLaplaceTerm;
  while (enough - too_small > 1) {
    const std::uint64_t middle = too_small + (enough - too_small) / 2;
    (is_enough(middle) ? enough : too_small) = middle;
  }
  return enough;
}

SampleAndAggregate::SampleAndAggregate(const MechanismOptions& options, std::uint64_t noise_scale,
                                       double moves)
    : options_(options),
      noise_scale_(noise_scale),
      divergence_({noise_scale, 1}, options.order),
      charge_(FixedNats::RoundUp(MovesNats(moves, noise_scale, options.order))) {}

accounting::PrivacyStatement SampleAndAggregate::Statement(FixedNats budget) const {
  if (has_constant_charge()) {
    return ConstantChargeStatement(
        std::string(name()), options_.order, budget, charge_, "theorem of noisy means",
        [this](RenyiOrder order) { return MovesNats(kMoves, noise_scale_, order); });
  }
  return accounting::PartLevelStatement(
      std::string(name()) + ", accounting leave-one-out", options_.order, budget,
      "docs/privacy.md, theorems of the transcript filter and of noisy means");
}

FixedNats SampleAndAggregate::ExactCharge(std::span<const std::uint64_t> weights,
                                          std::span<const std::uint64_t> public_weights) const {
  double nats = 0;
  for (std::size_t x = 0; x < weights.size(); ++x) {
    nats += divergence_(weights[x] > public_weights[x] ? weights[x] - public_weights[x]
                                                       : public_weights[x] - weights[x]);
  }
  // A sum of V terms >= 0 is off by at most V 2^-53.
  const double of_the_sum = static_cast<double>(weights.size() + 8) * 0x1p-53;
  return FixedNats::RoundUp(accounting::Outward(nats, of_the_sum));
}

base::StatusOr<std::unique_ptr<Proposal>> SampleAndAggregate::Propose(
    const PartPredictions& predictions, std::span<const FixedNats> remaining,
    base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  SUBMIX_RETURN_IF_ERROR(CheckPublicPmf(predictions.public_pmf));
  std::vector<FixedNats> charges(remaining.size(), charge_);
  if (options_.accounting == ChargeAccounting::kLeaveOneOut) {
    const std::size_t support_size = predictions.support_size();
    const std::size_t top = LargestIndex(predictions.public_pmf.data(), support_size);
    const Weights public_weights = LawOf(PartPmf(predictions), support_size, top);
    for (int part = 0; part < options_.num_parts; ++part) {
      charges[static_cast<std::size_t>(part)] =
          ExactCharge(LawOf(PartPmf(predictions, part), support_size, top), public_weights);
    }
  }
  return std::unique_ptr<Proposal>(std::make_unique<NoisyMeanProposal>(
      release_id, std::move(charges), predictions, noise_scale_));
}

}  // namespace submix::mechanism
