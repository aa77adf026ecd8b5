// The durable budget of one private training: a ledger with the single account "training", charged
// for each step (or round) before its noise is drawn, and never refunded. A step that was charged
// and then lost, by a crash or a full disk, has been spent. Torch-free.
//
// The ledger holds the bound at one Rényi order, which is what the budget limits; beside it the
// steps' parameters are counted at all orders (the moments accountant), for the best epsilon.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "submix/accounting/calculators/privacy_event.h"
#include "submix/accounting/calculators/rdp_accountant.h"
#include "submix/accounting/fixed_nats.h"
#include "submix/base/status.h"
#include "submix/ledger/durable_ledger.h"
#include "submix/ledger/receipt.h"

namespace submix::train {

// A step of DP-SGD, a round of DP-FedAvg.
using TrainingStep = accounting::SubsampledGaussianRun;

// One thread at a time; one process at a time per directory.
class TrainingAccount {
 public:
  // Makes the account in `directory` ("ledger.sqlite" and "anchor"), whole or not at all. `budget`
  // is in nats at `order`. `identity` names the training: its ledger serves no other. Errors: those
  // of DurableLedger::Create and of files.
  static base::Status Create(const std::string& directory, const std::string& identity,
                             divergence::RenyiOrder order, accounting::FixedNats budget);
  // Opens it. `history` is what the training's checkpoint knows of (TrainingStep alone); what was
  // charged since then are steps like `next` that were lost. Errors: those of DurableLedger::Open,
  // among them kFailedPrecondition for the account of another training; kDataLoss if the ledger
  // knows of fewer steps than `history`.
  static base::StatusOr<std::unique_ptr<TrainingAccount>> Open(
      const std::string& directory, const std::string& identity, divergence::RenyiOrder order,
      std::span<const accounting::PrivacyEvent> history, const TrainingStep& next);

  // Charges a step durably. None if the budget does not hold it: nothing is spent then. Errors:
  // those of Ledger::Charge; the step then counts as spent.
  base::StatusOr<std::optional<ledger::Receipt>> Charge(const TrainingStep& step);

  // Steps charged since the account was made, lost ones among them.
  std::int64_t steps_charged() const { return steps_charged_; }
  // The same by their parameters: for the checkpoint.
  const std::vector<accounting::PrivacyEvent>& history() const { return accountant_.history(); }
  // What they cost together, at all orders at once.
  const std::vector<accounting::RdpBound>& bounds() const { return accountant_.bounds(); }
  // Of `bounds`, at the best order, improved conversion.
  base::StatusOr<double> Epsilon(double delta) const;

 private:
  TrainingAccount(std::unique_ptr<ledger::DurableLedger> ledger, divergence::RenyiOrder order);

  void Count(const accounting::PrivacyEvent& event);

  const std::unique_ptr<ledger::DurableLedger> ledger_;
  const divergence::RenyiOrder order_;
  accounting::RdpAccountant accountant_;
  std::int64_t steps_charged_ = 0;
  base::ReleaseId next_;
};

}  // namespace submix::train
