#include "submix/train/training_account.h"

#include <cstdio>
#include <span>
#include <utility>

#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/random.h"

namespace submix::train {
namespace {

constexpr const char* kAccountName = "training";

// Everything that gives the account's numbers their meaning.
base::Sha256Digest Fingerprint(const StepBudget& budget, const std::string& identity) {
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, "submix training 1\n%.17g %.17g %.17g %.17g\n",
                budget.step().sampling_probability, budget.step().noise_multiplier,
                budget.target().epsilon, budget.target().delta);
  return base::Sha256(numbers + identity);
}

ledger::DurableLedgerOptions LedgerOptions(const std::string& directory,
                                           const base::Sha256Digest& fingerprint) {
  return {base::JoinPath(directory, "ledger.sqlite"), base::JoinPath(directory, "anchor"),
          fingerprint};
}

// Built beside its place and renamed: a crash leaves no half account.
base::Status MakeAccount(const std::string& directory, const StepBudget& budget,
                         const base::Sha256Digest& fingerprint) {
  base::FileSystem& files = base::PosixFileSystem();
  const std::string unfinished = directory + ".unfinished";
  SUBMIX_RETURN_IF_ERROR(files.RemoveAll(unfinished));
  SUBMIX_RETURN_IF_ERROR(files.MakeDirectories(unfinished));
  SUBMIX_RETURN_IF_ERROR(files.MakePrivate(unfinished));
  SUBMIX_RETURN_IF_ERROR(
      ledger::DurableLedger::Create(LedgerOptions(unfinished, fingerprint),
                                    {{kAccountName, budget.budget(), accounting::FixedNats()}},
                                    budget.binding().order.ToString()));
  return files.Rename(unfinished, directory);
}

}  // namespace

base::StatusOr<std::unique_ptr<TrainingAccount>> TrainingAccount::Open(
    const std::string& directory, const StepBudget& budget, const std::string& identity) {
  const base::Sha256Digest fingerprint = Fingerprint(budget, identity);
  if (!base::PosixFileSystem().Exists(directory)) {
    SUBMIX_RETURN_IF_ERROR(MakeAccount(directory, budget, fingerprint));
  }
  SUBMIX_ASSIGN_OR_RETURN(auto ledger,
                          ledger::DurableLedger::Open(LedgerOptions(directory, fingerprint)));
  std::unique_ptr<TrainingAccount> account(new TrainingAccount(std::move(ledger), budget.charge()));
  SUBMIX_RETURN_IF_ERROR(account->ReadSteps());
  return account;
}

TrainingAccount::TrainingAccount(std::unique_ptr<ledger::DurableLedger> ledger,
                                 accounting::FixedNats charge)
    : ledger_(std::move(ledger)), charge_(charge) {
  base::FillWithEntropy(std::as_writable_bytes(std::span(&next_.session, 1)));
}

base::Status TrainingAccount::ReadSteps() {
  SUBMIX_ASSIGN_OR_RETURN(const auto accounts, ledger_->Accounts());
  if (accounts.size() != 1 || accounts[0].name != kAccountName ||
      accounts[0].spent.units() % charge_.units() != 0) {
    return base::FailedPreconditionError("the ledger is not one of this private training");
  }
  steps_charged_ = accounts[0].spent.units() / charge_.units();
  return base::OkStatus();
}

base::StatusOr<std::optional<ledger::Receipt>> TrainingAccount::ChargeStep() {
  ++next_.number;
  const ledger::ChargeRequest request = {.release_id = next_, .charges = {&charge_, 1}};
  SUBMIX_ASSIGN_OR_RETURN(auto receipts, ledger_->Charge({&request, 1}));
  if (!receipts.front().paid()[0]) return std::optional<ledger::Receipt>();
  ++steps_charged_;
  return std::optional<ledger::Receipt>(std::move(receipts.front()));
}

}  // namespace submix::train
