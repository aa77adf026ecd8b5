#include "submix/mechanism/baselines/constant_charge.h"

#include <cmath>
#include <utility>

#include "submix/accounting/rdp_conversion.h"
#include "submix/base/check.h"

namespace submix::mechanism {

std::int64_t MostTokens(accounting::FixedNats budget, accounting::FixedNats charge) {
  SUBMIX_CHECK(charge > accounting::FixedNats(), "free tokens have no end");
  return budget.units() / charge.units();
}

accounting::PrivacyStatement ConstantChargeStatement(
    std::string mechanism, divergence::RenyiOrder order, accounting::FixedNats budget,
    accounting::FixedNats charge, const std::string& theorem,
    const std::function<double(divergence::RenyiOrder)>& token_nats) {
  const std::int64_t answers = MostTokens(budget, charge);
  accounting::PrivacyStatement statement = accounting::PartLevelStatement(
      std::move(mechanism), order, budget,
      "docs/privacy.md, " + theorem + "; at most " + std::to_string(answers) + " tokens");
  statement.adjacency = accounting::Adjacency::kReplace;
  for (const divergence::RenyiOrder further : accounting::DefaultOrders()) {
    const double nats = accounting::Outward(static_cast<double>(answers) * token_nats(further),
                                            accounting::kAnyChoiceError);
    if (std::isfinite(nats)) statement.further_bounds.push_back({further, nats});
  }
  return statement;
}

}  // namespace submix::mechanism
