#include "submix/train/round_charges.h"

#include <algorithm>

#include "submix/accounting/subsampled_gaussian_rdp.h"
#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/random.h"

namespace submix::train {
namespace {

using accounting::FixedNats;
using accounting::PrivacyEvent;
using divergence::RenyiOrder;

constexpr double kMostNats = 8191;  // more than anybody would call a promise; FixedNats holds it

ledger::DurableLedgerOptions LedgerOptions(const std::string& directory,
                                           const std::string& identity) {
  ledger::DurableLedgerOptions options;
  options.location = base::JoinPath(directory, "ledger.db");
  options.anchor_path = base::JoinPath(directory, "ledger.anchor");
  options.fingerprint = base::Sha256(identity);
  return options;
}

}  // namespace

base::StatusOr<RoundBudget> BudgetForTarget(const Round& round,
                                            const accounting::EpsilonDelta& target) {
  SUBMIX_ASSIGN_OR_RETURN(const accounting::RunsWithin most,
                          MostRuns(round, target, accounting::DefaultOrders()));
  if (most.count < 1) {
    return base::InvalidArgumentError("not one round fits into epsilon " +
                                      accounting::FormatCost(target.epsilon) +
                                      ": more noise, or a smaller sampling probability");
  }
  SUBMIX_ASSIGN_OR_RETURN(const double nats,
                          RdpForEpsilon(most.order, target, accounting::ConversionKind::kImproved));
  return RoundBudget{most.order.value(), FixedNats::RoundDown(std::min(nats, kMostNats))};
}

base::StatusOr<RoundBudget> BudgetForRounds(const Round& round, std::int64_t rounds, double delta) {
  const PrivacyEvent event = {round, rounds};
  SUBMIX_ASSIGN_OR_RETURN(
      const accounting::BestConversion best,
      BestEpsilon(accounting::CountRdp({&event, 1}, accounting::DefaultOrders()), delta,
                  accounting::ConversionKind::kImproved));
  return RoundBudget{best.order.value(), FixedNats::RoundDown(kMostNats)};
}

base::Status RoundCharges::Create(const std::string& directory, const std::string& identity,
                                  const RoundBudget& budget) {
  SUBMIX_ASSIGN_OR_RETURN(const RenyiOrder order, RenyiOrder::Create(budget.order));
  return ledger::DurableLedger::Create(LedgerOptions(directory, identity),
                                       {{"training", budget.limit, FixedNats()}}, order.ToString());
}

base::StatusOr<std::unique_ptr<RoundCharges>> RoundCharges::Open(
    const std::string& directory, const std::string& identity, double order,
    std::span<const PrivacyEvent> history, std::int64_t records, const Round& next) {
  SUBMIX_ASSIGN_OR_RETURN(auto ledger,
                          ledger::DurableLedger::Open(LedgerOptions(directory, identity)));
  SUBMIX_ASSIGN_OR_RETURN(const ledger::Ledger::Head head, ledger->head());
  if (head.records < records) {
    return base::DataLossError(directory +
                               ": the ledger holds fewer rounds than the checkpoint has seen");
  }
  std::unique_ptr<RoundCharges> charges(new RoundCharges(std::move(ledger), order));
  for (const PrivacyEvent& event : history) charges->accountant_.Compose(event);
  // The record that made the ledger is not a round.
  const std::int64_t lost = head.records - std::max<std::int64_t>(records, 1);
  if (lost > 0) charges->accountant_.Compose({next, lost});
  charges->records_ = head.records;
  base::FillWithEntropy(std::as_writable_bytes(std::span(&charges->session_, 1)));
  return charges;
}

base::StatusOr<std::optional<ledger::Receipt>> RoundCharges::Charge(const Round& round) {
  SUBMIX_ASSIGN_OR_RETURN(const RenyiOrder order, RenyiOrder::Create(order_));
  const FixedNats charge = FixedNats::RoundUp(
      accounting::SubsampledGaussianRdp(round.sampling_probability, round.noise_multiplier, order));
  SUBMIX_ASSIGN_OR_RETURN(const auto remaining, ledger_->Remaining());
  if (charge > remaining[0]) return std::optional<ledger::Receipt>();
  const ledger::ChargeRequest request = {{session_, static_cast<std::uint64_t>(records_)},
                                         accounting::ChargeRule::kPerPart,
                                         {&charge, 1}};
  SUBMIX_ASSIGN_OR_RETURN(auto receipts, ledger_->Charge({&request, 1}));
  SUBMIX_ASSIGN_OR_RETURN(const ledger::Ledger::Head head, ledger_->head());
  records_ = head.records;
  accountant_.Compose({round, 1});
  return std::optional(std::move(receipts[0]));
}

std::int64_t RoundCharges::num_rounds() const {
  std::int64_t count = 0;
  for (const PrivacyEvent& event : accountant_.history()) count += event.count;
  return count;
}

base::StatusOr<double> RoundCharges::Epsilon(double delta) const {
  if (accountant_.history().empty()) return 0.0;
  SUBMIX_ASSIGN_OR_RETURN(
      const accounting::BestConversion best,
      BestEpsilon(accountant_.bounds(), delta, accounting::ConversionKind::kImproved));
  return best.epsilon;
}

accounting::PrivacyStatement RoundCharges::Statement(double delta) const {
  accounting::PrivacyStatement statement;
  statement.mechanism = "dp-fedavg, " + std::to_string(num_rounds()) + " rounds charged";
  statement.unit = accounting::PrivacyUnit::kUserKey;
  statement.adjacency = accounting::Adjacency::kPresence;
  for (const accounting::RdpBound& bound : accountant_.bounds()) {
    if (bound.order.value() == order_) {
      statement.order = bound.order;
      statement.epsilon = FixedNats::RoundUp(bound.rdp);
    }
  }
  statement.worst_case = true;
  statement.proven = true;
  statement.proof =
      "Mironov, Talwar and Zhang 2019, if each user takes part in a round independently and "
      "nobody sees who did, and the number of users is public";
  statement.delta = delta;
  statement.further_bounds = accountant_.bounds();
  return statement;
}

}  // namespace submix::train
