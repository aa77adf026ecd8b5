#include "submix/ledger/ledger_checks.h"

#include <utility>

#include "submix/base/file_system.h"

namespace submix::ledger {
namespace {

base::Status CheckRecord(const Record& record, const std::string& name) {
  if (record.hash == RecordHash(record.previous, record.number, record.payload)) {
    return base::OkStatus();
  }
  return DamagedError(
      name, "the hash of record " + std::to_string(record.number) + " does not match its bytes");
}

// The ledger holds everything that the anchor has seen.
base::Status CheckAnchor(const StoredLedger& stored, const AnchorPosition& anchor,
                         const std::string& name) {
  if (anchor.lineage != stored.state.lineage) {
    return base::FailedPreconditionError(name + ": its anchor belongs to another ledger (lineage " +
                                         base::ToHex(anchor.lineage) + ", expected " +
                                         base::ToHex(stored.state.lineage) +
                                         "); give the anchor that was made with this ledger");
  }
  if (stored.newest.number < anchor.head.records) {
    return base::DataLossError(name + ": an older copy of the ledger (it holds " +
                               std::to_string(stored.newest.number) +
                               " records, the anchor has seen " +
                               std::to_string(anchor.head.records) + "); restore the newest copy");
  }
  if (stored.anchored && stored.anchored->hash == anchor.head.hash) {
    return CheckRecord(*stored.anchored, name);
  }
  return base::DataLossError(name + ": record " + std::to_string(anchor.head.records) +
                             " is not the one that the anchor has seen: an older copy of the "
                             "ledger was charged, or it is damaged; restore the newest copy");
}

}  // namespace

base::Status DamagedError(const std::string& name, const std::string& what) {
  return base::DataLossError(name + ": damaged: " + what + "; restore its newest copy");
}

base::Status CheckKnownFormat(int format, const std::string& name) {
  if (format < kOldestFormat) {
    return base::DataLossError(name + ": damaged: format " + std::to_string(format));
  }
  return base::CheckNotNewer(name, format, kNewestFormat);
}

base::Status CheckNewestFormat(int format, const std::string& name) {
  SUBMIX_RETURN_IF_ERROR(CheckKnownFormat(format, name));
  if (format == kNewestFormat) return base::OkStatus();
  return base::FailedPreconditionError(name + ": an older format (" + std::to_string(format) +
                                       "); open it once for charging, which migrates it");
}

base::Status AddAccount(std::int64_t part, std::string account_name, std::int64_t budget_units,
                        std::int64_t spent_units, LedgerState& state, const std::string& name) {
  using accounting::FixedNats;
  if (part != static_cast<std::int64_t>(state.accounts.size())) {
    return DamagedError(name, "account " + std::to_string(state.accounts.size()) + " is missing");
  }
  for (const std::int64_t units : {budget_units, spent_units}) {
    if (units < 0) return DamagedError(name, "a negative amount");
    if (!FixedNats::FromUnits(units).is_payable()) {
      return DamagedError(name, "an amount that no budget can hold");
    }
  }
  state.accounts.push_back({std::move(account_name), FixedNats::FromUnits(budget_units),
                            FixedNats::FromUnits(spent_units)});
  return base::OkStatus();
}

base::StatusOr<LedgerContents> CheckStored(StoredLedger stored,
                                           const base::Sha256Digest& fingerprint,
                                           const AnchorPosition* anchor, const std::string& name) {
  if (stored.state.fingerprint != fingerprint) {
    return base::FailedPreconditionError(
        name + ": this ledger belongs to another deployment (fingerprint " +
        base::ToHex(stored.state.fingerprint) + ", expected " + base::ToHex(fingerprint) +
        "); open the deployment that it was made for");
  }
  SUBMIX_RETURN_IF_ERROR(CheckRecord(stored.newest, name));
  // Format 1 has no state digests: its chain is replayed when it is migrated.
  if (stored.format >= 2 && StateDigestIn(stored.newest.payload) != StateDigest(stored.state)) {
    return DamagedError(name, "the accounts are not those of the newest record");
  }
  if (anchor != nullptr) SUBMIX_RETURN_IF_ERROR(CheckAnchor(stored, *anchor, name));
  const Ledger::Head head{stored.newest.number, stored.newest.hash};
  return LedgerContents{std::move(stored.state), head};
}

base::StatusOr<AnchorPosition> AnchorOf(const DurableLedgerOptions& options,
                                        const std::string& name) {
  auto position = ReadAnchor(options.anchor_path);
  if (position.status().code() != base::StatusCode::kNotFound) return position;
  return base::DataLossError(options.anchor_path +
                             ": the ledger's anchor is missing, so nobody can tell whether " +
                             name + " is its newest copy; restore the newest copies of both");
}

base::Status CheckSameState(const LedgerState& found, const LedgerState& replayed,
                            const std::string& name) {
  if (StateDigest(found) == StateDigest(replayed)) return base::OkStatus();
  for (std::size_t part = 0; part < found.accounts.size() && part < replayed.accounts.size();
       ++part) {
    const Account& account = found.accounts[part];
    const Account& sum = replayed.accounts[part];
    if (account.spent != sum.spent || account.budget != sum.budget || account.name != sum.name) {
      return DamagedError(name,
                          "account " + std::to_string(part) + " is not the sum of its records");
    }
  }
  return DamagedError(name, "its tables do not match its records");
}

base::Status OpenForReadingError(const std::string& name) {
  return base::FailedPreconditionError(name + ": open for reading only");
}

base::Status NotDurableError(const base::Status& cause) {
  return base::Status(
      cause.code(),
      "the ledger refuses until it has recovered, because a charge could not be made "
      "durable: " +
          cause.message());
}

}  // namespace submix::ledger
