#include "submix/mechanism/baselines/screened.h"

#include <string>
#include <utility>
#include <vector>

#include "submix/base/check.h"
#include "submix/mechanism/baselines/make_mechanism.h"
#include "submix/mechanism/baselines/masked_proposal.h"
#include "submix/mechanism/dclip.h"
#include "submix/mechanism/filtered_dclip.h"
#include "submix/mechanism/filtered_submix.h"

namespace submix::mechanism {
namespace {

using accounting::FixedNats;

class ScreenProposal final : public Proposal {
 public:
  ScreenProposal(base::ReleaseId release_id, std::vector<FixedNats> charges, ScreenedQuery query,
                 const PartPredictions& predictions, const NoisyScreen& screen,
                 const Mechanism& behind, double threshold)
      : Proposal(release_id, std::move(charges)),
        query_(std::move(query)),
        predictions_(predictions),
        screen_(screen),
        behind_(behind),
        threshold_(threshold) {}

  bool leads_to_screen() const override { return true; }

  PrivateMixture Mix(const std::vector<bool>&, base::RandomSource&) && override {
    SUBMIX_CHECK(false, "this proposal leads to a screen");
  }

  PrivateScreen Screen(const std::vector<bool>& paid) && override {
    SUBMIX_CHECK(paid.size() == charges().size(), "who paid: one answer a part");
    std::vector<FixedNats> charges = PaidCharges(paid);
    return PrivateScreen(
        release_id(), std::move(charges),
        [query = std::move(query_), predictions = predictions_, &screen = screen_,
         &behind = behind_, threshold = threshold_,
         paid](base::RandomSource& random, std::span<const FixedNats> remaining,
               base::ReleaseId next) -> base::StatusOr<std::unique_ptr<Proposal>> {
          std::vector<std::int64_t> noisy_sum = query.Sum(paid);
          screen.AddNoise(random, noisy_sum);
          const bool agrees = query.Divergence(noisy_sum) <= threshold;
          // The same work in either case.
          SUBMIX_ASSIGN_OR_RETURN(auto proposal, behind.Propose(predictions, remaining, next));
          return std::unique_ptr<Proposal>(std::make_unique<MaskedProposal>(
              std::move(proposal), agrees ? std::vector<bool>(paid.size(), false) : paid));
        });
  }

 private:
  ScreenedQuery query_;
  PartPredictions predictions_;
  const NoisyScreen& screen_;
  const Mechanism& behind_;
  double threshold_;
};

}  // namespace

base::StatusOr<std::unique_ptr<Screened>> Screened::Create(const MechanismOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(NoisyScreen screen, NoisyScreen::Create(options));
  const std::string& behind_name = options.screened_mechanism;
  if (behind_name != kFilteredSubmixName && behind_name != kDClipName &&
      behind_name != kFilteredDClipName) {
    return base::InvalidArgumentError(
        "screened mechanism: expected filtered-submix, dclip or filtered-dclip, found '" +
        behind_name + "'");
  }
  MechanismOptions behind = options;
  behind.name = behind_name;
  behind.target_leakage = options.target_leakage - screen.WorstCaseNats();
  if (!(behind.target_leakage > 0)) {
    return base::InvalidArgumentError(
        "screen: a comparison may cost " + std::to_string(screen.WorstCaseNats()) +
        " nats, which leaves nothing of the target leakage (beta) of " +
        std::to_string(options.target_leakage) +
        " for the answer: raise the noise scale, lower the mixing weight, or declare fewer "
        "queries");
  }
  SUBMIX_ASSIGN_OR_RETURN(auto mechanism, MakeMechanism(behind));
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
  return std::unique_ptr<Proposal>(
      std::make_unique<ScreenProposal>(release_id, std::move(charges), std::move(query),
                                       predictions, screen_, *behind_, options_.screen.threshold));
}

}  // namespace submix::mechanism
