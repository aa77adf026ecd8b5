// The anchor: number and hash of the newest ledger record that was ever answered for, kept outside
// the ledger, so that a restored older copy of the ledger is noticed. Format:
// docs/ledger_format.md.
#pragma once

#include <cstdint>
#include <string>

#include "submix/base/status.h"
#include "submix/ledger/ledger_records.h"

namespace submix::ledger {

struct AnchorPosition {
  Lineage lineage{};
  Ledger::Head head;
};

// kDataLoss: two copies of one ledger are charged, beside one anchor.
base::Status OtherBranchError(const std::string& anchor_path);

// A new file. Errors: kAlreadyExists, kNotFound without the folder, kResourceExhausted.
base::Status CreateAnchor(const std::string& path, const AnchorPosition& position);

// The newest position that the file holds. Errors: kNotFound, kDataLoss if no slot is whole.
base::StatusOr<AnchorPosition> ReadAnchor(const std::string& path);

// Moves the anchor to `position` unless it is there or further; returns where it durably is then.
// A crash on the way leaves the old position or the new one. Several processes may advance one
// anchor. Errors: kResourceExhausted, kInternal; kDataLoss, kFailedPrecondition if the file may not
// be written, or somebody damaged it or put another ledger's in its place; OtherBranchError if it
// holds another record of this number.
base::StatusOr<AnchorPosition> AdvanceAnchor(const std::string& path,
                                             const AnchorPosition& position);

}  // namespace submix::ledger
