// The durable budget of one private training: a ledger with the single account "training", charged
// before each step's noise is drawn. Killed at any moment, it says at least what was used.
// Torch-free.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "submix/base/status.h"
#include "submix/ledger/durable_ledger.h"
#include "submix/ledger/receipt.h"
#include "submix/train/step_budget.h"

namespace submix::train {

// One thread at a time; one process at a time per directory.
class TrainingAccount {
 public:
  // Opens the account in `directory` ("ledger.sqlite" and "anchor"), or makes it if there is none.
  // `identity` names the training by its public numbers; an account of another is refused. Errors:
  // kFailedPrecondition, and those of DurableLedger::Create and Open.
  static base::StatusOr<std::unique_ptr<TrainingAccount>> Open(const std::string& directory,
                                                               const StepBudget& budget,
                                                               const std::string& identity);

  // Books one step durably. None if the budget does not hold another: nothing is booked then.
  // Errors: those of Ledger::Charge; the step then counts as spent.
  base::StatusOr<std::optional<ledger::Receipt>> ChargeStep();

  // Steps booked since the account was made, those of interrupted runs among them.
  std::int64_t steps_charged() const { return steps_charged_; }

 private:
  TrainingAccount(std::unique_ptr<ledger::DurableLedger> ledger, accounting::FixedNats charge);

  base::Status ReadSteps();

  const std::unique_ptr<ledger::DurableLedger> ledger_;
  const accounting::FixedNats charge_;
  base::ReleaseId next_;
  std::int64_t steps_charged_ = 0;
};

}  // namespace submix::train
