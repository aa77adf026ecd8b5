// Proof that a charge is durable. Only a ledger makes one; a token is sampled only against one.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "submix/accounting/fixed_nats.h"
#include "submix/base/ids.h"

namespace submix::ledger {

// Move-only, used once: a moved-from receipt is void.
class Receipt {
 public:
  Receipt(Receipt&& other) noexcept;
  Receipt& operator=(Receipt&& other) noexcept;

  bool is_valid() const { return valid_; }
  base::ReleaseId release_id() const { return release_id_; }
  // [K]: which parts paid, and what: zero for parts that did not.
  const std::vector<bool>& paid() const { return paid_; }
  const std::vector<accounting::FixedNats>& charges() const { return charges_; }
  // Number of the ledger record that holds the charge.
  std::int64_t record() const { return record_; }

 private:
  friend class ReceiptPress;  // ledger/receipt_press.h, for the ledgers of this room only

  Receipt(base::ReleaseId release_id, std::vector<bool> paid,
          std::vector<accounting::FixedNats> charges, std::int64_t record);

  bool valid_ = true;
  base::ReleaseId release_id_;
  std::vector<bool> paid_;
  std::vector<accounting::FixedNats> charges_;
  std::int64_t record_ = 0;
};

}  // namespace submix::ledger
