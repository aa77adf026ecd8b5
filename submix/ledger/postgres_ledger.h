// The shared ledger behind durable_ledger.h: a PostgreSQL database that several servers charge at
// the same time, and an anchor file beside each. Contracts: durable_ledger.h.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "submix/ledger/durable_ledger.h"
#include "submix/ledger/ledger_checks.h"
#include "submix/ledger/ledger_records.h"

namespace submix::ledger {

// `first` is the record that creates `state`.
base::Status CreatePostgresLedger(const DurableLedgerOptions& options, const LedgerState& state,
                                  const Record& first);
base::StatusOr<std::unique_ptr<DurableLedger>> OpenPostgresLedger(
    const DurableLedgerOptions& options);
base::StatusOr<std::unique_ptr<DurableLedger>> OpenPostgresLedgerReadOnly(
    const DurableLedgerOptions& options);
// The contents after verifying the whole chain, whatever the anchor says. Errors: as Open.
base::StatusOr<LedgerContents> ReadPostgresLedgerWithoutAnchor(const DurableLedgerOptions& options);

// Makes a ledger of this state and of the records that `for_each_record` visits, which lead to it;
// its anchor is kept elsewhere. Errors: as Create; those of `for_each_record`.
base::Status CopyIntoPostgres(
    const std::string& location, const LedgerState& state,
    const std::function<base::Status(const RecordVisitor&)>& for_each_record);

}  // namespace submix::ledger
