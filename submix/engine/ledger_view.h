// The operator's view of a ledger, as `submix budget --json` and GET /ledger of the operator's
// listener show it (docs/operating.md). Never for a client.
#pragma once

#include <cstdint>
#include <vector>

#include "submix/accounting/promise.h"
#include "submix/engine/deployment.h"
#include "submix/engine/deployment_statement.h"
#include "submix/mechanism/baselines/constant_charge.h"

namespace submix::engine {

// Tokens that the part can surely still pay for: every charge is at most `target_leakage`, in nats.
// 0 if that is below what a charge can be.
inline std::int64_t SureTokens(const ledger::Account& account, double target_leakage) {
  // No mechanism charges more. As doubles, 2 nats of 2 / 93 nats each are 92 tokens.
  const auto most = accounting::FixedNats::RoundDown(target_leakage);
  if (most == accounting::FixedNats()) return 0;
  return mechanism::MostTokens(account.budget - account.spent, most);
}

// The same of every part before it has paid for a token here.
inline std::int64_t SureTokens(const DeploymentConfig& declared) {
  const auto budget = accounting::FixedNats::RoundDown(declared.options.epsilon);
  return SureTokens({"", budget, declared.earlier.most}, declared.options.mechanism.target_leakage);
}

// `Json` is one of nlohmann's, which headers do not know. Requires: accounts and head are the
// deployment's ledger's.
template <typename Json>
Json LedgerView(const Deployment& deployment, const std::vector<ledger::Account>& accounts,
                const ledger::Ledger::Head& head) {
  const DeploymentOptions& options = deployment.config.options;
  Json parts = Json::array();
  for (const ledger::Account& account : accounts) {
    parts.push_back({{"name", account.name},
                     {"spent", account.spent.ToNatsRoundedUp()},
                     {"budget", account.budget.ToNatsRoundedUp()},
                     {"sure_answers", SureTokens(account, options.mechanism.target_leakage)}});
  }
  const accounting::Promise promise = DeploymentPromise(deployment);
  return Json{{"mechanism", options.mechanism.name},
              {"order", options.mechanism.order.ToString()},
              {"unit", "part"},
              {"epsilon", options.epsilon},
              {"parts", std::move(parts)},
              {"records", head.records},
              {"head", base::ToHex(head.hash)},
              {"lineage", deployment.config.lineage},
              {"promise", accounting::PromiseJson<Json>(promise)},
              {"statement", promise.Lines()}};
}

}  // namespace submix::engine
