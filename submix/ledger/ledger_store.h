// What one kind of database does for durable_ledger.h. Contracts: there.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "submix/ledger/durable_ledger.h"
#include "submix/ledger/ledger_checks.h"
#include "submix/ledger/ledger_records.h"

namespace submix::ledger {

struct LedgerStore {
  // `first` is the record that creates `state`.
  base::Status (*create)(const DurableLedgerOptions& options, const LedgerState& state,
                         const Record& first);
  base::StatusOr<std::unique_ptr<DurableLedger>> (*open)(const DurableLedgerOptions& options);
  base::StatusOr<std::unique_ptr<DurableLedger>> (*open_read_only)(
      const DurableLedgerOptions& options);
  // The contents after verifying the whole chain, whatever the anchor says. Errors: as open.
  base::StatusOr<LedgerContents> (*read_without_anchor)(const DurableLedgerOptions& options);
};

// The embedded ledger: one SQLite file (WAL, full sync), one writer, and an anchor file outside it.
const LedgerStore& SqliteStore();
// The shared ledger: a PostgreSQL database that several servers charge at the same time, and an
// anchor file beside each. Where PostgreSQL is left out of the build all is kUnimplemented.
const LedgerStore& PostgresStore();

// Makes a ledger in PostgreSQL of this state and of the records that `for_each_record` visits,
// which lead to it; its anchor is kept elsewhere. Errors: as create; those of `for_each_record`.
base::Status CopyIntoPostgres(
    const std::string& location, const LedgerState& state,
    const std::function<base::Status(const RecordVisitor&)>& for_each_record);

}  // namespace submix::ledger
