// What a ledger file must fulfil before it is believed: format, fingerprint, chain head, anchor,
// and the whole chain where that is asked for. Nothing here writes.
#pragma once

#include "submix/base/status.h"
#include "submix/ledger/anchor.h"
#include "submix/ledger/ledger_records.h"
#include "submix/ledger/sqlite_connection.h"
#include "submix/ledger/sqlite_ledger.h"

namespace submix::ledger {

// What a ledger holds besides its older records.
struct LedgerContents {
  LedgerState state;
  Ledger::Head head;
};

// The file's format, one of those that can be read. Errors: kDataLoss if it is no ledger,
// kFailedPrecondition if it is newer.
base::StatusOr<int> ReadKnownFormat(SqliteConnection& connection);

// State and head, checked against the fingerprint and the newest record, at a cost that does not
// grow with the ledger. Errors: kFailedPrecondition, kDataLoss.
base::StatusOr<LedgerContents> ReadContents(SqliteConnection& connection, int format,
                                            const base::Sha256Digest& fingerprint);

// The ledger holds everything that the anchor has seen. Errors: kDataLoss if it is an older copy,
// kFailedPrecondition if the anchor is another ledger's.
base::Status CheckAnchor(SqliteConnection& connection, const LedgerContents& contents,
                         const AnchorPosition& anchor);

// The error for an anchor that cannot be read: kDataLoss with the mend if it is missing.
base::Status AnchorError(const base::Status& status, const SqliteLedgerOptions& options);

// ReadContents as one committed state beside a writer, and CheckAnchor unless `anchor` is null.
// Requires that the anchor was read before: a charge that comes between moves the ledger ahead of
// it, never behind.
base::StatusOr<LedgerContents> ReadSnapshot(SqliteConnection& connection,
                                            const base::Sha256Digest& fingerprint,
                                            const AnchorPosition* anchor);

// Replays every record and compares with the tables, on a connection of its own, so that charging
// goes on. Errors: kDataLoss naming the first record that is wrong.
base::Status VerifyChain(const std::string& path);

}  // namespace submix::ledger
