// `submix deploy`: the only command that creates a ledger.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/mechanism_flags.h"
#include "submix/engine/deployment.h"
#include "submix/engine/deployment_statement.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::apps {
namespace {

struct DeployOptions {
  std::string ensemble;
  std::string deployment;
  std::string ledger;
  std::vector<std::string> after;
  std::string order = "2";
  std::string when_exhausted = "public";
  std::int64_t queries = 1024;
  MechanismFlags mechanism_flags;
  engine::DeploymentOptions declared;
};

base::Status RunDeploy(DeployOptions options) {
  mechanism::MechanismOptions& declared = options.declared.mechanism;
  SUBMIX_RETURN_IF_ERROR(options.mechanism_flags.Apply(declared));
  SUBMIX_ASSIGN_OR_RETURN(declared.order, divergence::RenyiOrder::Parse(options.order));
  SUBMIX_ASSIGN_OR_RETURN(options.declared.when_exhausted,
                          engine::ParseWhenExhausted(options.when_exhausted));
  if (!(declared.target_leakage > 0)) {
    declared.target_leakage = options.declared.epsilon / static_cast<double>(options.queries);
  }
  SUBMIX_RETURN_IF_ERROR(engine::CreateDeployment(options.deployment, options.ensemble,
                                                  options.declared, options.ledger,
                                                  mechanism::MakeAnyMechanism, options.after));
  SUBMIX_ASSIGN_OR_RETURN(
      const auto deployment,
      engine::OpenDeployment(options.deployment, engine::DeploymentAccess::kReadOnly,
                             mechanism::MakeAnyMechanism));
  std::printf("Made %s: %d parts, %s\n\n", options.deployment.c_str(),
              deployment.config.options.mechanism.num_parts, declared.name.c_str());
  std::printf("%s", engine::DeploymentPromise(deployment).ToText().c_str());
  std::printf(
      "\nBudgets over the same users add up; a deployment not named by --after is not counted "
      "in.\n");
  if (!deployment.mechanism->is_sound() && !options.declared.research) {
    std::printf(
        "\nA research mechanism: `submix serve` will refuse this deployment; --research lets "
        "it.\n");
  }
  return base::OkStatus();
}

}  // namespace

void AddDeployCommand(CLI::App& command, Action& action) {
  DeployOptions& options = SetAction<DeployOptions>(command, action, RunDeploy);
  Flags flags(command);
  flags.Require("ensemble", options.ensemble, kDirectory, "Directory made by `submix train`");
  flags.Require("deployment", options.deployment, "New directory to make");
  flags.Add(
      "--ledger", options.ledger,
      "postgresql://[USER@]HOST/DATABASE: the ledger of several servers on one budget (without: a "
      "file in the deployment, for one server); the password comes from ~/.pgpass or PGPASSFILE");
  flags.Add("--mechanism", options.declared.mechanism.name,
            "One of: " + mechanism::AnyMechanismNames());
  flags.Add("--epsilon", options.declared.epsilon,
            "Budget of every part: nats of Renyi divergence at --order, for ever");
  flags.Add("--order", options.order, "The Renyi order that binds, in (0, inf]");
  flags.Add(
      "--queries", options.queries, kPositive,
      "Answers that every part can surely back, with what --after counts in taken from them; sets "
      "the cap on one charge to epsilon / queries");
  flags.Add("--target-leakage", options.declared.mechanism.target_leakage,
            "The cap on one charge itself, in nats (instead of --queries)");
  flags.Add("--max-mixing-weight", options.declared.mechanism.max_mixing_weight,
            "Largest weight of a member against the public model");
  AddMechanismFlags(command, options.mechanism_flags);
  flags.Add(
      "--after", options.after,
      "Deployments that answered from any of the same users before, with commas between: they "
      "end, and what they have cost counts against this budget");
  flags.Add("--when-exhausted", options.when_exhausted, OneOf({"public", "refuse"}),
            "What a mechanism with a fixed number of answers, such as dclip, does when they are "
            "used up: answer from the public model, or refuse");
  flags.Add("--research", options.declared.research,
            "Let `submix serve` answer although the guarantee is not proven; the model's name then "
            "ends in -research");
  command.footer(
      "A budget belongs to the data: it is never reset, and an ensemble has one deployment. Who\n"
      "trains on the same users again goes on with --after. Every part then begins with what all\n"
      "have spent alike (mechanisms such as dclip), or with the whole earlier budget (others);\n"
      "under the same partition key and number of parts, with what the part itself has spent.\n"
      "Example: submix deploy my_ensemble my_deployment --epsilon 2 --order 2 --queries 1024");
}

}  // namespace submix::apps
