#include "submix/accounting/individual_filter.h"

#include <algorithm>

#include "submix/base/check.h"

namespace submix::accounting {

IndividualFilter::IndividualFilter(FixedNats budget, FixedNats spent)
    : budget_(budget), spent_(spent) {
  SUBMIX_CHECK(budget.is_payable() && spent.is_payable(), "a filter needs finite amounts");
}

FixedNats IndividualFilter::remaining() const { return std::max(budget_, spent_) - spent_; }

bool IndividualFilter::CanPay(FixedNats charge) const {
  return charge.is_payable() && charge <= remaining();
}

void IndividualFilter::Pay(FixedNats charge) {
  SUBMIX_CHECK(CanPay(charge), "a charge beyond the budget");
  spent_ = spent_ + charge;
}

void IndividualFilter::Empty() { spent_ = std::max(spent_, budget_); }

}  // namespace submix::accounting
