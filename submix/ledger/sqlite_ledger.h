// The embedded ledger behind durable_ledger.h: one SQLite file (WAL, full sync), one writer, and an
// anchor file outside it. Contracts: durable_ledger.h.
#pragma once

#include <memory>

#include "submix/ledger/durable_ledger.h"
#include "submix/ledger/ledger_checks.h"
#include "submix/ledger/ledger_records.h"

namespace submix::ledger {

// `first` is the record that creates `state`.
base::Status CreateSqliteLedger(const DurableLedgerOptions& options, const LedgerState& state,
                                const Record& first);
base::StatusOr<std::unique_ptr<DurableLedger>> OpenSqliteLedger(
    const DurableLedgerOptions& options);
base::StatusOr<std::unique_ptr<DurableLedger>> OpenSqliteLedgerReadOnly(
    const DurableLedgerOptions& options);
// The contents after verifying the whole chain, whatever the anchor says. Errors: as Open.
base::StatusOr<LedgerContents> ReadSqliteLedgerWithoutAnchor(const DurableLedgerOptions& options);

}  // namespace submix::ledger
