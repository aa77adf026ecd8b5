// `submix budget`: the operator's view of a ledger.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/any_deployment.h"
#include "submix/engine/deployment.h"
#include "submix/engine/deployment_changes.h"
#include "submix/engine/deployment_statement.h"
#include "submix/engine/ledger_view.h"

namespace submix::apps {
namespace {

struct BudgetOptions {
  std::string deployment;
  bool verify = false;
  bool restore_anchor = false;
  std::string move_to;
  bool json = false;
};

constexpr int kBarCells = 30;

std::string SpentBar(double share) {
  std::string bar;
  for (int cell = 0; cell < kBarCells; ++cell) {
    bar += cell < static_cast<int>(std::ceil(share * kBarCells)) ? "█" : "·";
  }
  return bar;
}

void PrintForPeople(const engine::Deployment& deployment,
                    const std::vector<ledger::Account>& accounts,
                    const ledger::Ledger::Head& head) {
  const engine::DeploymentOptions& options = deployment.config.options;
  std::printf(
      "Operator's view: never show it to clients; acting on it is a release of its own.\n\n");
  std::printf("%-10s %12s %12s %14s\n", "part", "spent", "budget", "sure tokens");
  for (const ledger::Account& account : accounts) {
    const double spent = std::ceil(account.spent.ToNatsRoundedUp() * 1e6) / 1e6;
    const double budget = account.budget.ToNatsRoundedUp();
    std::printf(
        "%-10s %12.6f %12.6f %14lld  %s\n", account.name.c_str(), spent, budget,
        static_cast<long long>(engine::SureTokens(account, options.mechanism.target_leakage)),
        SpentBar(spent / budget).c_str());
  }
  std::printf("\nrecords    %lld\nhead       %s\nlineage    %s\n\n",
              static_cast<long long>(head.records), base::ToHex(head.hash).c_str(),
              deployment.config.lineage.c_str());
  std::printf("%s", engine::DeploymentPromise(deployment).ToText().c_str());
}

// The operator vouches that this ledger is the newest there is.
base::Status RestoreAnchor(const std::string& deployment) {
  SUBMIX_ASSIGN_OR_RETURN(const auto config, engine::LoadDeploymentConfig(deployment));
  SUBMIX_RETURN_IF_ERROR(
      ledger::DurableLedger::RestoreAnchor(engine::LedgerOptions(deployment, config)));
  std::printf("The chain is whole; the anchor is written anew.\n");
  return base::OkStatus();
}

base::Status MoveLedger(const BudgetOptions& options) {
  SUBMIX_RETURN_IF_ERROR(engine::MoveLedger(options.deployment, options.move_to));
  std::printf("The ledger goes on in the database, with its whole chain; the file is put aside.\n");
  return base::OkStatus();
}

base::Status RunBudget(const BudgetOptions& options) {
  if (options.restore_anchor) return RestoreAnchor(options.deployment);
  if (!options.move_to.empty()) return MoveLedger(options);
  SUBMIX_ASSIGN_OR_RETURN(const auto deployment, ReadDeployment(options.deployment));
  SUBMIX_ASSIGN_OR_RETURN(const auto accounts, deployment.ledger->Accounts());
  SUBMIX_ASSIGN_OR_RETURN(const auto head, deployment.ledger->head());
  if (options.verify) SUBMIX_RETURN_IF_ERROR(deployment.ledger->Verify());
  if (options.json) {
    auto object = engine::LedgerView<nlohmann::json>(deployment, accounts, head);
    object["verified"] = options.verify;
    std::printf("%s\n", object.dump().c_str());
    return base::OkStatus();
  }
  PrintForPeople(deployment, accounts, head);
  if (options.verify) {
    std::printf("\nThe chain of %lld records is whole, and its sums are the accounts'.\n",
                static_cast<long long>(head.records));
  }
  return base::OkStatus();
}

}  // namespace

void AddBudgetCommand(CLI::App& command, Action& action) {
  CLI::App* const verify =
      command.add_subcommand("verify", "Same as --verify: submix budget verify my_deployment");
  verify->fallthrough();
  BudgetOptions& options = SetAction<BudgetOptions>(command, action, [verify](BudgetOptions given) {
    given.verify = given.verify || verify->parsed();
    return RunBudget(given);
  });
  // Required as a group: a positional that is itself required would take the word `verify`.
  CLI::App& place = *command.add_option_group("Deployment");
  place.require_option(1);
  Flags(place).Add("deployment", options.deployment, kDirectory,
                   "Directory made by `submix deploy`");
  Flags flags(command);
  flags.Add("--verify", options.verify,
            "Recompute the whole chain of records; says where it breaks");
  flags.Add("--restore-anchor", options.restore_anchor,
            "Write a lost anchor anew; only if you are sure that this ledger is the newest");
  flags.Add("--move-to", options.move_to,
            "postgresql://[USER@]HOST/DATABASE, empty: move the ledger there from its file, for "
            "several servers on one budget");
  flags.Add("--json", options.json, "One JSON object");
  command.footer("Works beside running servers. Example: submix budget verify my_deployment");
}

}  // namespace submix::apps
