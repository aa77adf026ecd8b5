// What a statement claims, as bounds that hold at the same time: for conversions, and for whoever
// puts the claim to a test.
#pragma once

#include <vector>

#include "submix/accounting/privacy_statement.h"
#include "submix/accounting/rdp_conversion.h"

namespace submix::accounting {

// For the statement's own unit: (order, epsilon) first, then those at further orders.
std::vector<RdpBound> StatedBounds(const PrivacyStatement& statement);

// What a part-level statement, proven and for every data set, means for one user key whose records
// are changed, added or removed. Empty: nothing follows. Requires: statement.worst_case, proven.
std::vector<RdpBound> StatedUserLevelBounds(const PrivacyStatement& statement);

}  // namespace submix::accounting
