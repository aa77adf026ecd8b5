#include "submix/ledger/ledger.h"

#include "submix/accounting/individual_filter.h"

namespace submix::ledger {

base::StatusOr<std::vector<accounting::FixedNats>> Ledger::Remaining() const {
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<Account> accounts, Accounts());
  std::vector<accounting::FixedNats> remaining;
  remaining.reserve(accounts.size());
  for (const Account& account : accounts)
    remaining.push_back(accounting::IndividualFilter(account.budget, account.spent).remaining());

  return remaining;
}

}  // namespace submix::ledger
