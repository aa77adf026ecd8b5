// The only maker of receipts. For the ledgers of this room alone: scripts/check_layers.py refuses
// to include it anywhere else.
#pragma once

#include <cstdint>
#include <vector>

#include "submix/ledger/receipt.h"
#include "submix/ledger/step_charging.h"

namespace submix::ledger {

class ReceiptPress {
 public:
  // One receipt a request, in order. Requires: the charges are durable as record number `record`.
  static std::vector<Receipt> Press(const std::vector<BookedRequest>& booked, std::int64_t record);
};

}  // namespace submix::ledger
