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

// The writer's side. One thread at a time. At most one writer: who holds the ledger's lock.
class Anchor {
 public:
  // A new file. Errors: kAlreadyExists, kNotFound without the folder, kResourceExhausted.
  static base::Status Create(const std::string& path, const AnchorPosition& position);
  // The newest position that the file holds. Errors: kNotFound, kDataLoss if no slot is whole.
  static base::StatusOr<AnchorPosition> Read(const std::string& path);
  // Opens for advancing. Errors: those of Read; kFailedPrecondition if it may not be written.
  static base::StatusOr<std::unique_ptr<Anchor>> Open(const std::string& path);
  ~Anchor();
  Anchor(const Anchor&) = delete;
  Anchor& operator=(const Anchor&) = delete;

  const AnchorPosition& position() const { return position_; }
  // Durable when it returns. A crash on the way leaves the old position or the new one. Errors:
  // kResourceExhausted, kInternal.
  base::Status Advance(const Ledger::Head& head);

 private:
  Anchor(std::string path, int descriptor, AnchorPosition position, int newest_slot);

  const std::string path_;
  const int descriptor_;
  AnchorPosition position_;
  int newest_slot_;
};

}  // namespace submix::ledger
