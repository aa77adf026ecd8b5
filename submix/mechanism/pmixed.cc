#include "submix/mechanism/pmixed.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "submix/accounting/pmixed_target.h"
#include "submix/base/check.h"
#include "submix/mechanism/ball_charge.h"
#include "submix/mechanism/ball_laws.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {
namespace {

using accounting::FixedNats;

// Room for the rounding of a radius, of q and of the charge itself.
constexpr double kOutward = 1 + 0x1p-40;

double WorstCaseNats(const MechanismOptions& options, double radius, double answer_weight) {
  return BallCharge({radius * kOutward, options.num_parts, answer_weight}, options.order) *
         kOutward;
}

// True with the probability that the options declare, to 2^-63.
bool DrawMember(base::RandomSource& random, double probability) {
  constexpr std::uint64_t kDenominator = std::uint64_t{1} << 63;
  return random.NextBernoulli(static_cast<std::uint64_t>(probability * 0x1p63), kDenominator);
}

base::Status CheckOptions(const MechanismOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckMechanismOptions(options));
  if (!(options.sampling_probability > 0 && options.sampling_probability <= 1)) {
    return base::InvalidArgumentError("sampling probability: expected a number in (0, 1], found " +
                                      std::to_string(options.sampling_probability));
  }
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
  std::vector<double> radii;
  for (int size = 0; size <= options.num_parts; ++size) {
    radii.push_back(order * accounting::LargestPmixedBeta(options.target_leakage, std::max(size, 1),
                                                          options.sampling_probability, order));
  }
  return radii;
}

}  // namespace

// The laws of the parts are made for the drawn size only after the draw, all of them: the work does
// not show who or how many were drawn.
class PMixedProposal final : public Proposal {
 public:
  PMixedProposal(base::ReleaseId release_id, std::vector<FixedNats> charges, BallLaws laws,
                 const PMixed& mechanism)
      : Proposal(release_id, std::move(charges)), laws_(std::move(laws)), mechanism_(mechanism) {}

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource& random) && override {
    SUBMIX_CHECK(paid.size() == charges().size(), "who paid: one answer a part");
    const std::size_t num_parts = paid.size();
    std::vector<bool> drawn(num_parts);
    std::uint64_t size = 0;
    for (std::size_t part = 0; part < num_parts; ++part) {
      drawn[part] = DrawMember(random, mechanism_.options_.sampling_probability);
      size += drawn[part] ? 1 : 0;
    }
    const LawWeights& public_law = laws_.public_law();
    const std::uint64_t only_public = size == 0 ? ~std::uint64_t{0} : 0;
    std::vector<std::uint64_t> weights(public_law.size());
    for (std::size_t x = 0; x < weights.size(); ++x) weights[x] = public_law[x] & only_public;
    for (std::size_t part = 0; part < num_parts; ++part) {
      const LawWeights law = mechanism_.PartLaw(laws_, static_cast<int>(part), size);
      const std::uint64_t of_part = drawn[part] && paid[part] ? ~std::uint64_t{0} : 0;
      const std::uint64_t of_public = drawn[part] && !paid[part] ? ~std::uint64_t{0} : 0;
      for (std::size_t x = 0; x < weights.size(); ++x) {
        weights[x] += (law[x] & of_part) + (public_law[x] & of_public);
      }
    }
    return PrivateMixture(release_id(), std::move(weights), PaidCharges(paid));
  }

 private:
  BallLaws laws_;
  const PMixed& mechanism_;
};

base::StatusOr<std::unique_ptr<PMixed>> PMixed::Create(const MechanismOptions& given) {
  MechanismOptions options = given;
  if (options.accounting == ChargeAccounting::kDefault) {
    options.accounting = ChargeAccounting::kPublished;
  }
  SUBMIX_RETURN_IF_ERROR(CheckOptions(options));
  const auto sizes = static_cast<std::size_t>(options.num_parts) + 1;
  std::vector<double> radii;
  FixedNats charge;
  switch (options.accounting) {
    case ChargeAccounting::kWorstCase: {
      const double q = -std::expm1(options.num_parts * std::log1p(-options.sampling_probability));
      const FixedNats limit = FixedNats::RoundDown(options.target_leakage);
      const double radius = LargestBallRadius(options.num_parts, q, options.order,
                                              limit.ToNatsRoundedUp() * (1 - 0x1p-20));
      radii.assign(sizes, radius);
      charge = FixedNats::RoundUp(WorstCaseNats(options, radius, q));
      SUBMIX_CHECK(charge <= limit, "a ball that costs more than it may");
      break;
    }
    case ChargeAccounting::kLeaveOneOut:
      radii.assign(sizes, options.ball_radius);
      break;
    default:
      radii = PublishedRadii(options);
      charge = FixedNats::RoundUp(options.target_leakage);
  }
  return std::unique_ptr<PMixed>(new PMixed(options, std::move(radii), charge));
}

PMixed::PMixed(const MechanismOptions& options, std::vector<double> radii, FixedNats charge)
    : options_(options), radii_(std::move(radii)), charge_(charge), kernel_(options.order) {}

accounting::ChargeRule PMixed::charge_rule() const {
  return is_sound() ? accounting::ChargeRule::kPerPart : accounting::ChargeRule::kAllOrStop;
}

double PMixed::AnswerWeight() const {
  return -std::expm1(options_.num_parts * std::log1p(-options_.sampling_probability));
}

LawWeights PMixed::PartLaw(const BallLaws& laws, int part, std::size_t subset_size) const {
  const double radius = radii_[subset_size];
  return is_sound() ? laws.MaxBallLaw(part, radius) : laws.RenyiBallLaw(part, kernel_, radius);
}

accounting::PrivacyStatement PMixed::Statement(FixedNats budget) const {
  accounting::PrivacyStatement statement;
  statement.mechanism =
      std::string(name()) + ", accounting " + std::string(ToString(options_.accounting));
  statement.unit = accounting::PrivacyUnit::kPart;
  statement.adjacency = accounting::Adjacency::kNull;
  statement.order = options_.order;
  statement.epsilon = budget;
  statement.worst_case = options_.accounting != ChargeAccounting::kLeaveOneOut;
  statement.proven = is_sound();
  switch (options_.accounting) {
    case ChargeAccounting::kWorstCase: {
      statement.proof = "docs/privacy.md, theorem of the ball";
      const auto answers = static_cast<double>(budget.units() / charge_.units());
      const Ball ball{radii_[0] * kOutward, options_.num_parts, AnswerWeight()};
      statement.user_level_bounds = {
          {options_.order, answers * BallReplaceCharge(ball, options_.order) * kOutward}};
      break;
    }
    case ChargeAccounting::kLeaveOneOut:
      statement.proof =
          "research: a part's charge is exact for this ensemble only, and so depends on the other "
          "parts";
      break;
    default:
      statement.proof =
          "research: the triangle rule needs the ball at every order, the ball's radius depends on "
          "the secret subset's size, and the tight amplification holds for Gaussian and Laplace "
          "noise only";
  }
  return statement;
}

std::vector<FixedNats> PMixed::LeaveOneOutCharges(const BallLaws& laws) const {
  const LawWeights& public_law = laws.public_law();
  const double q = AnswerWeight();
  const double share = q / options_.num_parts;
  std::vector<LawWeights> parts;
  std::vector<double> law(public_law.size());  // h
  for (std::size_t x = 0; x < law.size(); ++x) {
    law[x] = (1 - q) * static_cast<double>(public_law[x]);
  }
  for (int part = 0; part < options_.num_parts; ++part) {
    parts.push_back(PartLaw(laws, part, 0));
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

base::StatusOr<std::unique_ptr<Proposal>> PMixed::Propose(const PartPredictions& predictions,
                                                          std::span<const FixedNats> remaining,
                                                          base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  SUBMIX_ASSIGN_OR_RETURN(BallLaws laws, BallLaws::Create(predictions));
  std::vector<FixedNats> charges(remaining.size(), charge_);
  if (options_.accounting == ChargeAccounting::kLeaveOneOut) charges = LeaveOneOutCharges(laws);
  return std::unique_ptr<Proposal>(
      std::make_unique<PMixedProposal>(release_id, std::move(charges), std::move(laws), *this));
}

}  // namespace submix::mechanism
