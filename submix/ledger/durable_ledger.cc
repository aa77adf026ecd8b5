#include "submix/ledger/durable_ledger.h"

#include <limits>
#include <string_view>

#include "submix/base/file_system.h"
#include "submix/base/random.h"
#include "submix/ledger/anchor.h"
#include "submix/ledger/ledger_records.h"
#include "submix/ledger/ledger_store.h"
#include "submix/ledger/receipt_press.h"
#include "submix/ledger/step_charging.h"

namespace submix::ledger {
namespace {

base::Status CheckNewState(const LedgerState& state) {
  constexpr std::size_t kMaxTextBytes = std::numeric_limits<std::uint16_t>::max();
  constexpr std::size_t kMaxAccounts = 1 << 20;
  if (state.accounts.empty() || state.accounts.size() > kMaxAccounts) {
    return base::InvalidArgumentError("a ledger has 1 to 1048576 accounts, not " +
                                      std::to_string(state.accounts.size()));
  }
  if (state.order_text.size() > kMaxTextBytes) {
    return base::InvalidArgumentError("the order's text is longer than 65535 bytes");
  }
  for (const Account& account : state.accounts) {
    if (account.name.size() > kMaxTextBytes) {
      return base::InvalidArgumentError("an account's name is longer than 65535 bytes");
    }
    if (!account.budget.is_payable() || !account.spent.is_payable()) {
      return base::InvalidArgumentError("account " + account.name +
                                        ": budget and spent must be finite amounts");
    }
  }
  return base::OkStatus();
}

const LedgerStore& StoreOf(const DurableLedgerOptions& options) {
  return DurableLedger::IsPostgres(options.location) ? PostgresStore() : SqliteStore();
}

}  // namespace

bool DurableLedger::IsPostgres(std::string_view location) {
  return location.starts_with("postgresql://") || location.starts_with("postgres://");
}

base::Status DurableLedger::Create(const DurableLedgerOptions& options,
                                   const std::vector<Account>& parts,
                                   const std::string& order_text) {
  LedgerState state{{}, options.fingerprint, order_text, parts};
  SUBMIX_RETURN_IF_ERROR(CheckNewState(state));
  base::FillWithEntropy(std::as_writable_bytes(std::span(state.lineage)));
  const Record first = ChainRecord(Head(), EncodeCreate(state));
  return StoreOf(options).create(options, state, first);
}

base::StatusOr<std::unique_ptr<DurableLedger>> DurableLedger::Open(
    const DurableLedgerOptions& options) {
  return StoreOf(options).open(options);
}

base::StatusOr<std::unique_ptr<DurableLedger>> DurableLedger::OpenReadOnly(
    const DurableLedgerOptions& options) {
  return StoreOf(options).open_read_only(options);
}

base::Status DurableLedger::RestoreAnchor(const DurableLedgerOptions& options) {
  if (ReadAnchor(options.anchor_path).ok()) {
    return base::AlreadyExistsError(options.anchor_path + ": the anchor is there, and whole");
  }
  SUBMIX_ASSIGN_OR_RETURN(const LedgerContents contents,
                          StoreOf(options).read_without_anchor(options));
  SUBMIX_RETURN_IF_ERROR(base::RemoveAll(options.anchor_path));
  return CreateAnchor(options.anchor_path, {contents.state.lineage, contents.head});
}

base::StatusOr<std::vector<Receipt>> DurableLedger::Charge(std::span<const ChargeRequest> step) {
  if (step.empty()) return std::vector<Receipt>();
  std::vector<BookedRequest> booked;
  const auto book = [&](LedgerState& state) -> base::StatusOr<std::string> {
    SUBMIX_ASSIGN_OR_RETURN(booked, BookStep(step, state.accounts));
    return EncodeCharge(booked, state);
  };
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t record, AppendRecord(book));
  return ReceiptPress::Press(booked, record);
}

base::StatusOr<std::vector<Account>> DurableLedger::Accounts() const {
  SUBMIX_ASSIGN_OR_RETURN(LedgerContents contents, Read());
  return std::move(contents.state.accounts);
}

base::StatusOr<Ledger::Head> DurableLedger::head() const {
  SUBMIX_ASSIGN_OR_RETURN(const LedgerContents contents, Read());
  return contents.head;
}

base::Status DurableLedger::Rebind(const base::Sha256Digest& new_fingerprint) {
  return AppendRecord([&](LedgerState& state) -> base::StatusOr<std::string> {
           const base::Sha256Digest old_fingerprint = state.fingerprint;
           state.fingerprint = new_fingerprint;
           return EncodeRebind(old_fingerprint, state);
         })
      .status();
}

base::Status DurableLedger::CopyToPostgres(const std::string&) {
  return base::FailedPreconditionError(
      "only a ledger in a file, open for charging, moves into a database");
}

}  // namespace submix::ledger
