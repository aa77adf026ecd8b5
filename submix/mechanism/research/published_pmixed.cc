#include "submix/mechanism/research/published_pmixed.h"

#include <cmath>
#include <string>
#include <utility>

#include "submix/accounting/calculators/pmixed_target.h"
#include "submix/mechanism/baselines/secret_subset.h"
#include "submix/mechanism/quantise.h"
#include "submix/mechanism/research/pair_weight.h"

namespace submix::mechanism {
namespace {

using accounting::FixedNats;

base::Status CheckOptions(const MechanismOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckMechanismOptions(options));
  SUBMIX_RETURN_IF_ERROR(CheckSamplingProbability(options));
  const double order = options.order.value();
  if (options.accounting == ChargeAccounting::kPublished &&
      !(order >= 2 && order <= 256 && order == std::floor(order))) {
    return base::InvalidArgumentError(
        "order: the published accounting of pmixed needs a whole number from 2 to 256, found " +
        options.order.ToString());
  }
  if (options.accounting == ChargeAccounting::kLeaveOneOut && !(options.ball_radius > 0)) {
    return base::InvalidArgumentError(
        "ball radius: pmixed with leave-one-out accounting needs one, in nats above 0");
  }
  return base::OkStatus();
}

std::vector<double> PublishedRadii(const MechanismOptions& options) {
  const int order = static_cast<int>(options.order.value());
  std::vector<double> radii = accounting::PmixedBetas(options.target_leakage, options.num_parts,
                                                      options.sampling_probability, order);
  for (double& radius : radii) radius *= order;
  return radii;
}

}  // namespace

LawWeights RenyiBallLaw(const BallLaws& laws, int part, const ShiftExcess& kernel, double radius) {
  std::vector<double> pmf;
  if (!laws.PartPmf(part, pmf)) return laws.public_law();
  const std::span<const double> public_pmf = laws.public_pmf();
  const double scale = LargestBallWeight(public_pmf, pmf, kernel, kernel.FromNats(radius));
  for (std::size_t x = 0; x < pmf.size(); ++x) {
    pmf[x] = public_pmf[x] + scale * (pmf[x] - public_pmf[x]);
  }
  LawWeights law(pmf.size());
  QuantiseLaw(pmf, laws.top_token(), law);
  return law;
}

base::StatusOr<std::unique_ptr<PublishedPMixed>> PublishedPMixed::Create(
    const MechanismOptions& given) {
  MechanismOptions options = given;
  if (options.accounting == ChargeAccounting::kDefault) {
    options.accounting = ChargeAccounting::kPublished;
  }
  SUBMIX_RETURN_IF_ERROR(CheckOptions(options));
  const auto sizes = static_cast<std::size_t>(options.num_parts) + 1;
  return std::unique_ptr<PublishedPMixed>(
      new PublishedPMixed(options, options.accounting == ChargeAccounting::kPublished
                                       ? PublishedRadii(options)
                                       : std::vector<double>(sizes, options.ball_radius)));
}

PublishedPMixed::PublishedPMixed(const MechanismOptions& options, std::vector<double> radii)
    : options_(options), radii_(std::move(radii)), kernel_(options.order) {}

accounting::PrivacyStatement PublishedPMixed::Statement(FixedNats budget) const {
  const bool is_constant = options_.accounting == ChargeAccounting::kPublished;
  accounting::PrivacyStatement statement = accounting::ResearchStatement(
      std::string(name()) + ", accounting " + std::string(ToString(options_.accounting)),
      options_.order, budget,
      is_constant
          ? "the triangle rule needs the ball at every order, the ball's radius depends on the "
            "secret subset's size, and the tight amplification holds for Gaussian and Laplace "
            "noise only"
          : "a part's charge is exact for this ensemble only, and so depends on the other parts");
  statement.worst_case = is_constant;
  return statement;
}

std::vector<FixedNats> PublishedPMixed::LeaveOneOutCharges(const BallLaws& laws) const {
  const LawWeights& public_law = laws.public_law();
  const double q = ProbabilityOfAnyPart(options_);
  const double share = q / options_.num_parts;
  std::vector<LawWeights> parts;
  std::vector<double> law(public_law.size());  // h
  for (std::size_t x = 0; x < law.size(); ++x) {
    law[x] = (1 - q) * static_cast<double>(public_law[x]);
  }
  for (int part = 0; part < options_.num_parts; ++part) {
    parts.push_back(RenyiBallLaw(laws, part, kernel_, options_.ball_radius));
    for (std::size_t x = 0; x < law.size(); ++x) {
      law[x] += share * static_cast<double>(parts.back()[x]);
    }
  }
  std::vector<FixedNats> charges;
  std::vector<double> shift(law.size());  // share of it leads to h'
  for (const LawWeights& part : parts) {
    for (std::size_t x = 0; x < law.size(); ++x) {
      shift[x] = static_cast<double>(public_law[x]) - static_cast<double>(part[x]);
    }
    const DirectedExcess excess = kernel_.Of(law, shift, share, static_cast<double>(kTotalWeight));
    charges.push_back(kernel_.ChargeOf(excess, law.size()));
  }
  return charges;
}

base::StatusOr<std::unique_ptr<Proposal>> PublishedPMixed::Propose(
    const PartPredictions& predictions, std::span<const FixedNats> remaining,
    base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  SUBMIX_ASSIGN_OR_RETURN(BallLaws laws, BallLaws::Create(predictions));
  std::vector<FixedNats> charges =
      options_.accounting == ChargeAccounting::kLeaveOneOut
          ? LeaveOneOutCharges(laws)
          : std::vector<FixedNats>(remaining.size(), FixedNats::RoundUp(options_.target_leakage));
  LawWeights public_law = laws.public_law();
  return std::unique_ptr<Proposal>(std::make_unique<SecretSubsetProposal>(
      release_id, std::move(charges), std::move(public_law), options_.sampling_probability,
      [laws = std::move(laws), this](int part, std::size_t subset_size) {
        return RenyiBallLaw(laws, part, kernel_, radii_[subset_size]);
      }));
}

}  // namespace submix::mechanism
