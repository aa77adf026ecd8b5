// The tables of an SQLite ledger: every SQL statement of the newest format is here. Schema:
// docs/ledger_format.md. What may be written when is sqlite_ledger.cc's business.
#pragma once

#include <cstdint>
#include <string>

#include "submix/base/status.h"
#include "submix/ledger/ledger_checks.h"
#include "submix/ledger/ledger_records.h"
#include "submix/ledger/sqlite_connection.h"

namespace submix::ledger {

// What the file's header says of itself. Errors: kDataLoss if it is no Submix ledger.
base::StatusOr<int> ReadFormat(SqliteConnection& connection);

// Makes the tables, writes the state and its first record, in one transaction. The file is left in
// rollback-journal mode: complete in itself, so that it may be renamed.
base::Status CreateTables(SqliteConnection& connection, const LedgerState& state,
                          const Record& first);

// State, newest record and the one of number `anchored`. Errors of all reads: kDataLoss for what no
// ledger holds.
base::StatusOr<StoredLedger> ReadStored(SqliteConnection& connection, int format,
                                        std::int64_t anchored);
// The same as one committed state beside a writer. Errors: those, and CheckNewestFormat's.
base::StatusOr<StoredLedger> ReadSnapshot(SqliteConnection& connection, std::int64_t anchored);
// The same after replaying every record and comparing with the tables, on a connection of its own,
// so that charging goes on. Errors: those, naming the first record that is wrong.
base::StatusOr<StoredLedger> ReadVerified(const std::string& path, std::int64_t anchored);

// Every record in order. Errors: those of reads, and of `visit`.
base::Status ForEachRecord(SqliteConnection& connection, const RecordVisitor& visit);

// Brings a ledger of the oldest format to the newest, in one transaction, after replaying its whole
// chain; a migration record continues the chain. Every spent amount stays.
base::Status MigrateTables(SqliteConnection& connection);

// The writer's prepared statements. One thread at a time; must not outlive their connection.
struct TableWriter {
  static base::StatusOr<TableWriter> Prepare(SqliteConnection& connection);

  // Appends the record and makes `after` the state, in one durable transaction. Every account's
  // row is written, in order, whatever was charged (privacy_checklist.md 6). On an error the
  // transaction is rolled back, but whether it became durable is unknown.
  base::Status Commit(const Record& record, const LedgerState& after, SqliteConnection& connection);

  SqliteStatement insert_record;
  SqliteStatement turn_accounts;
  SqliteStatement update_account;
  SqliteStatement update_fingerprint;
};

}  // namespace submix::ledger
