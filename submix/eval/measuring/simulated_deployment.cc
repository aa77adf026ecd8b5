#include "submix/eval/measuring/simulated_deployment.h"

#include <cmath>
#include <string>
#include <utility>

#include "submix/accounting/fixed_nats.h"
#include "submix/engine/sample.h"
#include "submix/ledger/memory_ledger.h"
#include "submix/mechanism/operator_view.h"

namespace submix::eval {

using base::StatusOr;

StatusOr<SimulatedDeployment> SimulatedDeployment::Create(
    const SimulatedOptions& options, std::unique_ptr<base::RandomSource> random) {
  const mechanism::Mechanism& mechanism = *options.mechanism;
  if (options.halves < mechanism.halves()) {
    return base::InvalidArgumentError("the mechanism " + std::string(mechanism.name()) + " needs " +
                                      std::to_string(mechanism.halves()) +
                                      " members a part; train with --halves 2");
  }
  SimulatedDeployment simulated;
  simulated.random_ = std::move(random);
  simulated.mechanism_ = options.mechanism;
  simulated.ledger_ = ledger::MakeMemoryLedger(options.num_parts,
                                               accounting::FixedNats::RoundDown(options.epsilon));
  return simulated;
}

StatusOr<TokenScore> SimulatedDeployment::Answer(const mechanism::PartPredictions& predictions,
                                                 std::size_t true_index) {
  SUBMIX_ASSIGN_OR_RETURN(const mechanism::PrivateMixture mixture, Release(predictions));
  const double probability = mechanism::OperatorView::Probability(mixture, true_index);
  bool is_likeliest = true;
  for (std::size_t x = 0; is_likeliest && x < predictions.public_pmf.size(); ++x) {
    is_likeliest = mechanism::OperatorView::Probability(mixture, x) <= probability;
  }
  return TokenScore{-std::log(probability), is_likeliest};
}

base::Status SimulatedDeployment::Answer(const mechanism::PartPredictions& predictions,
                                         std::span<double> law) {
  SUBMIX_ASSIGN_OR_RETURN(const mechanism::PrivateMixture mixture, Release(predictions));
  for (std::size_t x = 0; x < law.size(); ++x) {
    law[x] = mechanism::OperatorView::Probability(mixture, x);
  }
  return base::OkStatus();
}

StatusOr<mechanism::PrivateMixture> SimulatedDeployment::Release(
    const mechanism::PartPredictions& predictions) {
  SUBMIX_ASSIGN_OR_RETURN(const auto remaining, ledger_->Remaining());
  SUBMIX_ASSIGN_OR_RETURN(
      auto proposal, mechanism_->Propose(predictions, remaining, base::ReleaseId{0, ++releases_}));
  SUBMIX_ASSIGN_OR_RETURN(ledger::Receipt receipt, Charge(*proposal));
  if (proposal->leads_to_screen()) {
    mechanism::PrivateScreen screen = std::move(*proposal).Screen(receipt.paid());
    SUBMIX_ASSIGN_OR_RETURN(const auto left, ledger_->Remaining());
    SUBMIX_ASSIGN_OR_RETURN(
        proposal, engine::OpenScreen(std::move(screen), std::move(receipt), *random_, left,
                                     base::ReleaseId{0, ++releases_}));
    SUBMIX_ASSIGN_OR_RETURN(receipt, Charge(*proposal));
  }
  return std::move(*proposal).Mix(
      mechanism::OperatorView::Participants(*mechanism_, receipt.paid()), *random_);
}

StatusOr<std::vector<double>> SimulatedDeployment::SpentNats() const {
  SUBMIX_ASSIGN_OR_RETURN(const auto accounts, ledger_->Accounts());
  std::vector<double> spent;
  for (const ledger::Account& account : accounts) spent.push_back(account.spent.ToNatsRoundedUp());
  return spent;
}

StatusOr<ledger::Receipt> SimulatedDeployment::Charge(const mechanism::Proposal& proposal) {
  const ledger::ChargeRequest request{proposal.release_id(), mechanism_->charge_rule(),
                                      proposal.charges()};
  SUBMIX_ASSIGN_OR_RETURN(auto receipts, ledger_->Charge(std::span(&request, 1)));
  return std::move(receipts.front());
}

}  // namespace submix::eval
