#include "submix/mechanism/research/adapmixed.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "submix/mechanism/baselines/all_or_public.h"
#include "submix/mechanism/baselines/ball_laws.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {
namespace {

using accounting::FixedNats;

// The charge of the largest divergence that leaving one part out of the mean makes. Alone, a part
// is compared with the public law.
FixedNats LargestLeaveOneOut(const std::vector<LawWeights>& parts, const LawWeights& sum,
                             const LawWeights& public_law, const ShiftExcess& kernel) {
  const auto k = static_cast<double>(parts.size());
  std::vector<double> mean(sum.size());
  for (std::size_t x = 0; x < sum.size(); ++x) mean[x] = static_cast<double>(sum[x]) / k;
  std::vector<double> shift(sum.size());
  FixedNats largest;
  for (const LawWeights& part : parts) {
    for (std::size_t x = 0; x < sum.size(); ++x) {
      const auto others = static_cast<double>(parts.size() == 1 ? public_law[x] : sum[x] - part[x]);
      shift[x] = others / std::max(1.0, k - 1) - mean[x];
    }
    const DirectedExcess excess =
        kernel.Of(mean, shift, /*scale=*/1, static_cast<double>(kTotalWeight));
    largest = std::max(largest, kernel.ChargeOf(excess, sum.size()));
  }
  return largest;
}

}  // namespace

base::StatusOr<std::unique_ptr<AdaPMixed>> AdaPMixed::Create(const MechanismOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(NoisyScreen screen, NoisyScreen::Create(options));
  std::unique_ptr<PublishedPMixed> published;
  if (options.accounting == ChargeAccounting::kPublished) {
    SUBMIX_ASSIGN_OR_RETURN(published, PublishedPMixed::Create(options));
  } else if (options.accounting != ChargeAccounting::kDefault) {
    return base::InvalidArgumentError("accounting: adapmixed has default and published, not " +
                                      std::string(ToString(options.accounting)));
  } else if (!(options.ball_radius > 0)) {
    return base::InvalidArgumentError(
        "ball radius: adapmixed needs one, in nats above 0 (the paper's beta times the order)");
  }
  return std::unique_ptr<AdaPMixed>(
      new AdaPMixed(options, std::move(screen), std::move(published)));
}

AdaPMixed::AdaPMixed(const MechanismOptions& options, NoisyScreen screen,
                     std::unique_ptr<PublishedPMixed> published)
    : options_(options),
      screen_(std::move(screen)),
      kernel_(options.order),
      published_(std::move(published)) {}

accounting::PrivacyStatement AdaPMixed::Statement(FixedNats budget) const {
  return accounting::ResearchStatement(
      std::string(name()), options_.order, budget,
      published_
          ? "PMixED's published accounting (its subset bound needs the ball at every order), and "
            "whether a token costs anything shows what the screen saw"
          : "a token's charge is exact for this ensemble only, and the end of the budget is "
            "decided by private amounts");
}

base::StatusOr<std::unique_ptr<Proposal>> AdaPMixed::Propose(const PartPredictions& predictions,
                                                             std::span<const FixedNats> remaining,
                                                             base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  const FixedNats charge = FixedNats::RoundUp(screen_.PublishedNats());
  const auto propose_token = [this, predictions](double divergence, const std::vector<bool>& paid,
                                                 std::span<const FixedNats> left,
                                                 base::ReleaseId next) {
    const bool everybody = std::find(paid.begin(), paid.end(), false) == paid.end();
    const bool is_too_dear = divergence > options_.screen.threshold;
    return ProposeToken(predictions, left, is_too_dear || !everybody, next);
  };
  return std::unique_ptr<Proposal>(
      std::make_unique<ScreenProposal>(release_id, std::vector<FixedNats>(remaining.size(), charge),
                                       ScreenedQuery(screen_, predictions), propose_token));
}

base::StatusOr<std::unique_ptr<Proposal>> AdaPMixed::ProposeToken(
    const PartPredictions& predictions, std::span<const FixedNats> remaining, bool is_too_dear,
    base::ReleaseId release_id) const {
  if (published_ && !is_too_dear) return published_->Propose(predictions, remaining, release_id);
  SUBMIX_ASSIGN_OR_RETURN(const BallLaws laws, BallLaws::Create(predictions));
  const LawWeights& public_law = laws.public_law();
  const auto num_parts = static_cast<std::size_t>(options_.num_parts);
  std::vector<FixedNats> charges(num_parts);
  LawWeights mixture = public_law;
  if (!is_too_dear) {
    std::vector<LawWeights> parts;
    std::fill(mixture.begin(), mixture.end(), 0);
    for (int part = 0; part < options_.num_parts; ++part) {
      parts.push_back(RenyiBallLaw(laws, part, kernel_, options_.ball_radius));
      for (std::size_t x = 0; x < mixture.size(); ++x) mixture[x] += parts.back()[x];
    }
    charges.assign(num_parts, LargestLeaveOneOut(parts, mixture, public_law, kernel_));
  }
  return std::unique_ptr<Proposal>(std::make_unique<AllOrPublicProposal>(
      release_id, std::move(charges), std::move(mixture), public_law));
}

}  // namespace submix::mechanism
