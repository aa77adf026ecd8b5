// What a stored ledger must fulfil before it is believed: format, fingerprint, chain head, state
// digest, anchor. The same for every database; nothing here knows one. `name` is the
// ledger's in messages: the file's path, or the database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "submix/base/status.h"
#include "submix/ledger/anchor.h"
#include "submix/ledger/durable_ledger.h"
#include "submix/ledger/ledger_records.h"

namespace submix::ledger {

// What the tables say, in one committed state.
struct StoredLedger {
  int format = 0;
  LedgerState state;
  Record newest;
  std::optional<Record> anchored;  // the record of the anchor's number, if there is one
};

// What a ledger holds besides its older records, believed.
struct LedgerContents {
  LedgerState state;
  Ledger::Head head;
};

base::Status DamagedError(const std::string& name, const std::string& what);

// A format that can be read. Errors: kFailedPrecondition if it is newer, kDataLoss.
base::Status CheckKnownFormat(int format, const std::string& name);
// The newest one, for who does not migrate. Errors: those, and kFailedPrecondition if it is older.
base::Status CheckNewestFormat(int format, const std::string& name);

// Adds the account of a row, read in the order of the parts. Errors: kDataLoss unless it is the
// next one, with amounts that a budget can hold.
base::Status AddAccount(std::int64_t part, std::string account_name, std::int64_t budget_units,
                        std::int64_t spent_units, LedgerState& state, const std::string& name);

// The stored state against fingerprint, newest record and, unless it is null, the anchor, at a cost
// that does not grow with the ledger. Requires that the anchor was read before the ledger: a charge
// that comes between moves the ledger ahead of it, never behind. Errors: kFailedPrecondition for
// another deployment's ledger or another ledger's anchor; kDataLoss for damage, or if the ledger
// lacks what the anchor has seen.
base::StatusOr<LedgerContents> CheckStored(StoredLedger stored,
                                           const base::Sha256Digest& fingerprint,
                                           const AnchorPosition* anchor, const std::string& name);

// ReadAnchor, but kDataLoss with the mend if the ledger's anchor is missing.
base::StatusOr<AnchorPosition> AnchorOf(const DurableLedgerOptions& options,
                                        const std::string& name);

// Ok if the tables' state is what replaying the records gave, account for account. Errors:
// kDataLoss.
base::Status CheckSameState(const LedgerState& found, const LedgerState& replayed,
                            const std::string& name);

// What a ledger says that is open for reading only, and one that must recover from `cause`.
base::Status OpenForReadingError(const std::string& name);
base::Status NotDurableError(const base::Status& cause);

}  // namespace submix::ledger
