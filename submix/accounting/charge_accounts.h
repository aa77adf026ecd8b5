// The one place that decides who pays for a release; every ledger calls it.
#pragma once

#include <span>
#include <vector>

#include "submix/accounting/charge_rule.h"
#include "submix/accounting/fixed_nats.h"
#include "submix/accounting/individual_filter.h"

namespace submix::accounting {

// Decides by `rule` which accounts pay their charge for one release, and books it in `accounts`.
// Returns, for each account, whether it takes part.
//   kPerPart    each account that can pay does; the others are untouched. A zero charge is always
//               paid, an Unpayable one never.
//   kAllOrStop  everyone pays if every account can pay and has something left before; otherwise
//               nobody does, and each account that could not is emptied for ever.
// Requires: charges.size() == accounts.size().
std::vector<bool> ChargeAccounts(ChargeRule rule, std::span<const FixedNats> charges,
                                 std::span<IndividualFilter> accounts);

}  // namespace submix::accounting
