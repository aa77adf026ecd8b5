#include "submix/ledger/memory_ledger.h"

#include <mutex>
#include <string>
#include <utility>

#include "submix/ledger/ledger_records.h"
#include "submix/ledger/receipt_press.h"
#include "submix/ledger/step_charging.h"

namespace submix::ledger {
namespace {

class MemoryLedger final : public Ledger {
 public:
  MemoryLedger(int num_parts, accounting::FixedNats budget) {
    for (int part = 0; part < num_parts; ++part) {
      state_.accounts.push_back({"part " + std::to_string(part), budget, {}});
    }
    Advance(EncodeCreate(state_));
  }

  base::StatusOr<std::vector<Receipt>> Charge(std::span<const ChargeRequest> step) override {
    const std::lock_guard guard(mutex_);
    SUBMIX_ASSIGN_OR_RETURN(const auto booked, BookStep(step, state_.accounts));
    if (step.empty()) return std::vector<Receipt>();
    Advance(EncodeCharge(booked, state_));
    return ReceiptPress::Press(booked, head_.records);
  }

  base::StatusOr<std::vector<Account>> Accounts() const override {
    const std::lock_guard guard(mutex_);
    return state_.accounts;
  }

  base::StatusOr<Head> head() const override {
    const std::lock_guard guard(mutex_);
    return head_;
  }

  // Its records are gone as soon as they are hashed: there is nothing that could have changed.
  base::Status Verify() const override { return base::OkStatus(); }

 private:
  void Advance(std::string payload) {
    const Record record = ChainRecord(head_, std::move(payload));
    head_ = {record.number, record.hash};
  }

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  LedgerState state_;
  Head head_;
};

}  // namespace

std::unique_ptr<Ledger> MakeMemoryLedger(int num_parts, accounting::FixedNats budget) {
  return std::make_unique<MemoryLedger>(num_parts, budget);
}

}  // namespace submix::ledger
