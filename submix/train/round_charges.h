// The privacy account of a federated training: every round is charged in a durable ledger (one
// account, "training") before its noise is drawn, and never refunded. A round that was charged and
// then lost, by a crash or a full disk, has been spent. Torch-free. Unit: one user, added or
// removed.
//
// The ledger holds the bound at one Rényi order, which is what the budget limits; beside it the
// rounds' parameters are counted at all orders (the moments accountant), for the best epsilon.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "submix/accounting/privacy_statement.h"
#include "submix/accounting/rdp_accountant.h"
#include "submix/base/status.h"
#include "submix/ledger/durable_ledger.h"

namespace submix::train {

using Round = accounting::SubsampledGaussianRun;

// A budget and the order it is kept at.
struct RoundBudget {
  double order = 2;
  accounting::FixedNats limit;
};

// The budget that reaches epsilon with the most rounds of this kind. Errors: kInvalidArgument for a
// target out of range, or one that not even one round keeps.
base::StatusOr<RoundBudget> BudgetForTarget(const Round& round,
                                            const accounting::EpsilonDelta& target);
// For a training that ends by its number of rounds: the order that is best after so many; as good
// as no limit.
base::StatusOr<RoundBudget> BudgetForRounds(const Round& round, std::int64_t rounds, double delta);

// One thread at a time; one process at a time for a directory.
class RoundCharges {
 public:
  // Makes the ledger in the directory. `identity` names the training it is bound to. Errors: those
  // of DurableLedger::Create.
  static base::Status Create(const std::string& directory, const std::string& identity,
                             const RoundBudget& budget);
  // Opens it. `history` is what was counted when `records` records were there; records since then
  // are rounds like `next` that were charged and lost. Errors: those of DurableLedger::Open;
  // kDataLoss if there are fewer records.
  static base::StatusOr<std::unique_ptr<RoundCharges>> Open(
      const std::string& directory, const std::string& identity, double order,
      std::span<const accounting::PrivacyEvent> history, std::int64_t records, const Round& next);

  // Charges a round. None if the budget cannot pay it; then nothing is spent. Errors: those of
  // Ledger::Charge.
  base::StatusOr<std::optional<ledger::Receipt>> Charge(const Round& round);

  // Rounds charged, lost ones among them.
  std::int64_t num_rounds() const;
  std::int64_t records() const { return records_; }
  const std::vector<accounting::PrivacyEvent>& history() const { return accountant_.history(); }
  // Of all rounds charged, at the best order, improved conversion.
  base::StatusOr<double> Epsilon(double delta) const;
  // The same in words, with everything that must be said with it.
  accounting::PrivacyStatement Statement(double delta) const;

 private:
  RoundCharges(std::unique_ptr<ledger::DurableLedger> ledger, double order)
      : ledger_(std::move(ledger)), order_(order) {}

  const std::unique_ptr<ledger::DurableLedger> ledger_;
  const double order_;
  accounting::RdpAccountant accountant_;
  std::int64_t records_ = 0;
  std::uint64_t session_ = 0;
};

}  // namespace submix::train
