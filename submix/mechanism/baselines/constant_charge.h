// Mechanisms whose every token costs every part the same public constant (docs/privacy.md,
// Theorem 9). How many tokens a budget buys is then known beforehand, which part takes part in a
// token is a function of their number alone, and what that many tokens cost holds at all orders
// at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "submix/accounting/fixed_nats.h"
#include "submix/accounting/privacy_statement.h"
#include "submix/divergence/renyi_order.h"

namespace submix::mechanism {

// The most tokens that the budget pays for. Requires: charge > 0.
std::int64_t MostTokens(accounting::FixedNats budget, accounting::FixedNats charge);

// The statement of such a mechanism: proven and worst case, for parts that are changed in any way.
// `token_nats` is what one token costs at any order >= 1; `theorem` is its name in
// docs/privacy.md.
accounting::PrivacyStatement ConstantChargeStatement(
    std::string mechanism, divergence::RenyiOrder order, accounting::FixedNats budget,
    accounting::FixedNats charge, const std::string& theorem,
    const std::function<double(divergence::RenyiOrder)>& token_nats);

}  // namespace submix::mechanism
