#include "submix/train/sampled_gaussian/training_account.h"

#include <span>
#include <utility>

#include "submix/accounting/subsampled_gaussian_rdp.h"
#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/random.h"

namespace submix::train {
namespace {

using accounting::FixedNats;
using accounting::PrivacyEvent;
using divergence::RenyiOrder;

ledger::DurableLedgerOptions LedgerOptions(const std::string& directory,
                                           const std::string& identity) {
  return {base::JoinPath(directory, "ledger.sqlite"), base::JoinPath(directory, "anchor"),
          base::Sha256("submix training 2\n" + identity)};
}

}  // namespace

// Built beside its place and renamed: a crash leaves no half account.
base::Status TrainingAccount::Create(const std::string& directory, const std::string& identity,
                                     RenyiOrder order, FixedNats budget) {
  const std::string unfinished = directory + ".unfinished";
  SUBMIX_RETURN_IF_ERROR(base::RemoveAll(unfinished));
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(unfinished));
  SUBMIX_RETURN_IF_ERROR(base::MakePrivate(unfinished));
  SUBMIX_RETURN_IF_ERROR(ledger::DurableLedger::Create(
      LedgerOptions(unfinished, identity), {{"training", budget, FixedNats()}}, order.ToString()));
  return base::Rename(unfinished, directory);
}

base::StatusOr<std::unique_ptr<TrainingAccount>> TrainingAccount::Open(
    const std::string& directory, const std::string& identity, RenyiOrder order,
    std::span<const PrivacyEvent> history, const TrainingStep& next) {
  SUBMIX_ASSIGN_OR_RETURN(auto ledger,
                          ledger::DurableLedger::Open(LedgerOptions(directory, identity)));
  SUBMIX_ASSIGN_OR_RETURN(const ledger::Ledger::Head head, ledger->head());
  std::unique_ptr<TrainingAccount> account(new TrainingAccount(std::move(ledger), order));
  for (const PrivacyEvent& event : history) account->Count(event);
  // The record that made the ledger is no step.
  const std::int64_t lost = head.records - 1 - account->steps_charged_;
  if (lost < 0) {
    return base::DataLossError(directory +
                               ": the ledger holds fewer steps than the checkpoint knows of; "
                               "restore the newest ledger");
  }
  if (lost > 0) account->Count({next, lost});
  return account;
}

TrainingAccount::TrainingAccount(std::unique_ptr<ledger::DurableLedger> ledger, RenyiOrder order)
    : ledger_(std::move(ledger)), order_(order) {
  base::FillWithEntropy(std::as_writable_bytes(std::span(&next_.session, 1)));
}

void TrainingAccount::Count(const PrivacyEvent& event) {
  accountant_.Compose(event);
  steps_charged_ += event.count;
}

base::StatusOr<std::optional<ledger::Receipt>> TrainingAccount::Charge(const TrainingStep& step) {
  const FixedNats charge = FixedNats::RoundUp(accounting::Outward(
      accounting::SubsampledGaussianRdp(step.sampling_probability, step.noise_multiplier, order_)));
  SUBMIX_ASSIGN_OR_RETURN(const auto remaining, ledger_->Remaining());
  if (charge > remaining[0]) return std::optional<ledger::Receipt>();
  ++next_.number;
  const ledger::ChargeRequest request = {.release_id = next_, .charges = {&charge, 1}};
  SUBMIX_ASSIGN_OR_RETURN(auto receipts, ledger_->Charge({&request, 1}));
  Count({step, 1});
  return std::optional(std::move(receipts.front()));
}

base::StatusOr<double> TrainingAccount::Epsilon(double delta) const {
  if (steps_charged_ == 0) return 0.0;
  SUBMIX_ASSIGN_OR_RETURN(const accounting::BestConversion best,
                          BestEpsilon(bounds(), delta, accounting::ConversionKind::kImproved));
  return best.epsilon;
}

}  // namespace submix::train
