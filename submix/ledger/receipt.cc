#include "submix/ledger/receipt.h"

#include "submix/ledger/receipt_press.h"

namespace submix::ledger {

Receipt::Receipt(base::ReleaseId release_id, std::vector<bool> paid,
                 std::vector<accounting::FixedNats> charges, std::int64_t record)
    : release_id_(release_id),
      paid_(std::move(paid)),
      charges_(std::move(charges)),
      record_(record) {}

Receipt::Receipt(Receipt&& other) noexcept
    : valid_(std::exchange(other.valid_, false)),
      release_id_(std::exchange(other.release_id_, {})),
      paid_(std::exchange(other.paid_, {})),
      charges_(std::exchange(other.charges_, {})),
      record_(std::exchange(other.record_, 0)) {}

Receipt& Receipt::operator=(Receipt&& other) noexcept {
  if (this == &other) return *this;
  valid_ = std::exchange(other.valid_, false);
  release_id_ = std::exchange(other.release_id_, {});
  paid_ = std::exchange(other.paid_, {});
  charges_ = std::exchange(other.charges_, {});
  record_ = std::exchange(other.record_, 0);
  return *this;
}

std::vector<Receipt> ReceiptPress::Press(const std::vector<BookedRequest>& booked,
                                         std::int64_t record) {
  std::vector<Receipt> receipts;
  receipts.reserve(booked.size());
  for (const BookedRequest& request : booked) {
    std::vector<bool> paid;
    std::vector<accounting::FixedNats> charges;
    for (const BookedPart& part : request.parts) {
      const bool has_paid = part.outcome == Outcome::kPaid;
      paid.push_back(has_paid);
      // What a stop took from an account bought nothing.
      charges.push_back(has_paid ? part.amount : accounting::FixedNats());
    }
    receipts.push_back(Receipt(request.release_id, std::move(paid), std::move(charges), record));
  }
  return receipts;
}

}  // namespace submix::ledger
