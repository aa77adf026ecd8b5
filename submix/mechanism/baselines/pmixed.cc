#include "submix/mechanism/baselines/pmixed.h"

#include <string>
#include <utility>
#include <vector>

#include "submix/base/check.h"
#include "submix/base/number_text.h"
#include "submix/mechanism/baselines/ball_charge.h"
#include "submix/mechanism/baselines/ball_laws.h"
#include "submix/mechanism/baselines/constant_charge.h"
#include "submix/mechanism/baselines/secret_subset.h"

namespace submix::mechanism {
namespace {

using accounting::FixedNats;

// With room for the rounding of the radius and of q.
Ball BallOf(const MechanismOptions& options, double radius) {
  return {accounting::Outward(radius), options.num_parts, ProbabilityOfAnyPart(options)};
}

}  // namespace

base::StatusOr<std::unique_ptr<PMixed>> PMixed::Create(const MechanismOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckMechanismOptions(options));
  SUBMIX_RETURN_IF_ERROR(CheckSamplingProbability(options));
  if (options.accounting != ChargeAccounting::kWorstCase) {
    return base::InvalidArgumentError(
        "accounting: pmixed is proven with worst-case alone; the others are research");
  }
  const FixedNats limit = FixedNats::RoundDown(options.target_leakage);
  const double radius = LargestBallRadius(options.num_parts, ProbabilityOfAnyPart(options),
                                          options.order, limit.ToNatsRoundedUp() * (1 - 0x1p-20));
  const FixedNats charge =
      FixedNats::RoundUp(accounting::Outward(BallCharge(BallOf(options, radius), options.order)));
  SUBMIX_CHECK(charge <= limit, "a ball that costs more than it may");
  if (charge == FixedNats()) {
    return base::InvalidArgumentError(
        "target leakage (beta): no token of pmixed costs so little, found " +
        base::NumberText(options.target_leakage));
  }
  return std::unique_ptr<PMixed>(new PMixed(options, radius, charge));
}

PMixed::PMixed(const MechanismOptions& options, double radius, FixedNats charge)
    : options_(options), radius_(radius), charge_(charge) {}

accounting::PrivacyStatement PMixed::Statement(FixedNats budget) const {
  accounting::PrivacyStatement statement =
      accounting::PartLevelStatement("pmixed, accounting worst-case", options_.order, budget,
                                     "docs/privacy.md, theorem of the ball");
  const auto answers = static_cast<double>(MostTokens(budget, charge_));
  statement.user_level_bounds = {
      {options_.order, accounting::Outward(answers * BallReplaceCharge(BallOf(options_, radius_),
                                                                       options_.order))}};
  return statement;
}

base::StatusOr<std::unique_ptr<Proposal>> PMixed::Propose(const PartPredictions& predictions,
                                                          std::span<const FixedNats> remaining,
                                                          base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  SUBMIX_ASSIGN_OR_RETURN(BallLaws laws, BallLaws::Create(predictions));
  LawWeights public_law = laws.public_law();
  return std::unique_ptr<Proposal>(std::make_unique<SecretSubsetProposal>(
      release_id, std::vector<FixedNats>(remaining.size(), charge_), std::move(public_law),
      options_.sampling_probability,
      [laws = std::move(laws), radius = radius_](int part, std::size_t) {
        return laws.MaxBallLaw(part, radius);
      }));
}

}  // namespace submix::mechanism
