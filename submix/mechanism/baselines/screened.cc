#include "submix/mechanism/baselines/screened.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "submix/base/number_text.h"
#include "submix/mechanism/dclip.h"
#include "submix/mechanism/filtered_dclip.h"
#include "submix/mechanism/filtered_submix.h"
#include "submix/mechanism/mechanism_maker.h"

namespace submix::mechanism {
namespace {

using accounting::FixedNats;

// What may stand behind a comparison.
constexpr NamedMaker kBehind[] = {
    {kFilteredSubmixName, MakeBy<FilteredSubmix>},
    {kDClipName, MakeBy<DClip>},
    {kFilteredDClipName, MakeBy<FilteredDClip>},
};

}  // namespace

MaskedProposal::MaskedProposal(std::unique_ptr<Proposal> proposal, std::vector<bool> takes_part)
    : Proposal(proposal->release_id(), proposal->PaidCharges(takes_part)),
      proposal_(std::move(proposal)),
      takes_part_(std::move(takes_part)) {}

PrivateMixture MaskedProposal::Mix(const std::vector<bool>& paid, base::RandomSource& random) && {
  std::vector<bool> both(paid.size());
  for (std::size_t part = 0; part < paid.size(); ++part) {
    both[part] = paid[part] && takes_part_[part];
  }
  return std::move(*proposal_).Mix(both, random);
}

base::StatusOr<std::unique_ptr<Screened>> Screened::Create(const MechanismOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(NoisyScreen screen, NoisyScreen::Create(options));
  const auto maker = std::ranges::find(kBehind, options.screened_mechanism, &NamedMaker::name);
  if (maker == std::end(kBehind)) {
    return base::InvalidArgumentError(
        "screened mechanism: expected filtered-submix, dclip or filtered-dclip, found '" +
        options.screened_mechanism + "'");
  }
  MechanismOptions behind = options;
  behind.name = maker->name;
  behind.target_leakage = options.target_leakage - screen.WorstCaseNats();
  if (!(behind.target_leakage > 0)) {
    return base::InvalidArgumentError(
        "screen: a comparison may cost " + base::NumberText(screen.WorstCaseNats()) +
        " nats, which leaves nothing of the target leakage (beta) of " +
        base::NumberText(options.target_leakage) +
        " for the token: raise the noise scale, lower the mixing weight, or declare fewer "
        "tokens");
  }
  SUBMIX_ASSIGN_OR_RETURN(auto mechanism, maker->make(behind));
  return std::unique_ptr<Screened>(new Screened(options, std::move(screen), std::move(mechanism)));
}

accounting::PrivacyStatement Screened::Statement(FixedNats budget) const {
  return accounting::PartLevelStatement(
      std::string(name()) + " " + options_.screened_mechanism, options_.order, budget,
      "docs/privacy.md, theorems of the transcript filter and of the screen");
}

base::StatusOr<std::unique_ptr<Proposal>> Screened::Propose(const PartPredictions& predictions,
                                                            std::span<const FixedNats> remaining,
                                                            base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  ScreenedQuery query(screen_, predictions);
  std::vector<FixedNats> charges;
  for (int part = 0; part < options_.num_parts; ++part) charges.push_back(query.Charge(part));
  const auto propose_token =
      [this, predictions](double divergence, const std::vector<bool>& paid,
                          std::span<const FixedNats> left,
                          base::ReleaseId next) -> base::StatusOr<std::unique_ptr<Proposal>> {
    // The same work whether it agrees or not.
    SUBMIX_ASSIGN_OR_RETURN(auto proposal, behind_->Propose(predictions, left, next));
    const bool agrees = divergence <= options_.screen.threshold;
    return std::unique_ptr<Proposal>(std::make_unique<MaskedProposal>(
        std::move(proposal), agrees ? std::vector<bool>(paid.size(), false) : paid));
  };
  return std::unique_ptr<Proposal>(std::make_unique<ScreenProposal>(
      release_id, std::move(charges), std::move(query), propose_token));
}

}  // namespace submix::mechanism
