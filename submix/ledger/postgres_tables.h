// The tables of a PostgreSQL ledger: every SQL statement of it is here. Schema:
// docs/ledger_format.md. Who charges when is postgres_ledger.cc's business.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "submix/base/status.h"
#include "submix/ledger/chain_replay.h"
#include "submix/ledger/ledger_checks.h"
#include "submix/ledger/ledger_records.h"
#include "submix/ledger/postgres_connection.h"

namespace submix::ledger {

// On one connection. One thread at a time. After an error it is of no more use: destroying it rolls
// back what was not committed. Errors of all: PostgresConnection::Run's; of all that read:
// kDataLoss for what no ledger holds, and CheckNewestFormat's.
class PostgresTables {
 public:
  explicit PostgresTables(PostgresConnection connection) : connection_(std::move(connection)) {}

  const std::string& name() const { return connection_.name(); }
  bool is_lost() const { return connection_.is_lost(); }

  // Begins a transaction, makes the tables and writes the state; the records that lead to it are
  // to follow, in order. Errors: kAlreadyExists.
  base::Status BeginCreation(const LedgerState& state);
  base::Status Insert(const Record& record);

  // State, newest record and the one of number `anchored`, as one committed state.
  base::StatusOr<StoredLedger> ReadSnapshot(std::int64_t anchored);
  // The same after replaying every record and comparing with the tables. Errors: kDataLoss naming
  // the first record that is wrong.
  base::StatusOr<StoredLedger> ReadVerified(std::int64_t anchored);

  // Begins the transaction of a charge: waits for the ledger's lock, reads as above. From here to
  // the transaction's end no other one gets so far. Errors: kUnavailable if another holds the lock
  // for too long; kFailedPrecondition if the server does not sync what it commits.
  base::StatusOr<StoredLedger> BeginCharge(std::int64_t anchored);
  // Within it: appends the record and moves the tables from `before` to `after`. The database
  // itself refuses what would overspend. Every account's row is written, whatever was charged
  // (privacy_checklist.md 6). Requires: one differs from the other by what the record says.
  base::Status Write(const Record& record, const LedgerState& before, const LedgerState& after);
  // Durable if it returns ok; unknown if not.
  base::Status Commit() { return connection_.Commit(); }

 private:
  base::StatusOr<StoredLedger> Read(const std::string& begin, const std::string& lock,
                                    const std::string& end, std::int64_t anchored);
  base::Status ReplayInto(ChainReplay& replay);

  PostgresConnection connection_;
};

}  // namespace submix::ledger
