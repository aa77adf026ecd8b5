// The Rényi filter of one account (Theorem 1, hypothesis 3): pay before the release, or sit out.
#pragma once

#include "submix/accounting/fixed_nats.h"

namespace submix::accounting {

// One part's budget and what it has spent. Value; one thread at a time. Spent never shrinks.
class IndividualFilter {
 public:
  // spent > budget is allowed (an account that took over an older one's spendings): it can pay
  // nothing but zero. Requires: budget and spent payable.
  explicit IndividualFilter(FixedNats budget, FixedNats spent = FixedNats());

  FixedNats budget() const { return budget_; }
  FixedNats spent() const { return spent_; }
  // Zero once spent >= budget.
  FixedNats remaining() const;

  // spent + charge <= budget, exactly. Zero can always be paid, Unpayable never.
  bool CanPay(FixedNats charge) const;
  // Requires: CanPay(charge).
  void Pay(FixedNats charge);
  // Nothing but zero can be paid from now on.
  void Empty();

 private:
  FixedNats budget_;
  FixedNats spent_;
};

}  // namespace submix::accounting
