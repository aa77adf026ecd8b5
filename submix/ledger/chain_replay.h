// Reads ledger records back, one after the other, and recomputes what they say: the hash chain,
// every account's sum, the state digests. Built for hostile bytes: anything wrong is kDataLoss.
#pragma once

#include <string_view>

#include "submix/base/status.h"
#include "submix/ledger/ledger_records.h"

namespace submix::ledger {

// One thread at a time.
class ChainReplay {
 public:
  // The next record. Errors: kDataLoss naming the record and what is wrong with it; then the replay
  // is over.
  base::Status Append(const Record& record);

  // What the records so far amount to.
  const LedgerState& state() const { return state_; }
  const Ledger::Head& head() const { return head_; }
  // The format of the newest record; 0 before the first.
  int format() const { return format_; }

 private:
  class PayloadReader;

  base::Status CheckLink(const Record& record) const;
  base::Status ApplyPayload(std::string_view payload);
  base::Status ApplyCreate(PayloadReader& reader);
  base::Status ApplyCharge(PayloadReader& reader);
  base::Status ApplyRequest(PayloadReader& reader);
  base::Status ApplyRebind(PayloadReader& reader);
  base::Status ApplyMigrate(PayloadReader& reader);
  base::Status CheckEnd(PayloadReader& reader) const;

  LedgerState state_;
  Ledger::Head head_;
  int format_ = 0;
};

}  // namespace submix::ledger
