// The anchor: number and hash of the newest ledger record that was ever answered for, kept outside
// the ledger, so that a restored older copy of the ledger is noticed. Format:
// docs/ledger_format.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "submix/base/status.h"
#include "submix/ledger/ledger_records.h"

namespace submix::ledger {

struct AnchorPosition {
  Lineage lineage{};
  Ledger::Head head;
};

// Who charges keeps one open. One thread at a time; several processes may advance one anchor.
class Anchor {
 public:
  // A new file. Errors: kAlreadyExists, kNotFound without the folder, kResourceExhausted.
  static base::Status Create(const std::string& path, const AnchorPosition& position);
  // The newest position that the file holds. Errors: kNotFound, kDataLoss if no slot is whole.
  static base::StatusOr<AnchorPosition> Read(const std::string& path);
  // Opens for advancing. Errors: those of Read; kFailedPrecondition if it may not be written.
  static base::StatusOr<std::unique_ptr<Anchor>> Open(const std::string& path);
  Anchor(const Anchor&) = delete;
  Anchor& operator=(const Anchor&) = delete;

  // The newest one seen by Open or Advance.
  const AnchorPosition& position() const { return position_; }
  // Moves the anchor to `head`, durably, unless it is there or further. A crash on the way leaves
  // the old position or the new one. Errors: kResourceExhausted, kInternal; kDataLoss,
  // kFailedPrecondition if somebody damaged or replaced the file.
  base::Status Advance(const Ledger::Head& head);

 private:
  Anchor(std::string path, AnchorPosition position);

  const std::string path_;
  AnchorPosition position_;
};

}  // namespace submix::ledger
