// `submix deploy`: the only command that creates a ledger.
#include <cstdio>
#include <memory>
#include <string>

#include "submix/apps/program_commands.h"
#include "submix/apps/serving/mechanism_flags.h"
#include "submix/engine/deployment.h"
#include "submix/engine/deployment_statement.h"

namespace submix::apps {
namespace {

struct DeployOptions {
  std::string ensemble;
  std::string deployment;
  std::string ledger;
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
                                                  options.declared, options.ledger));
  SUBMIX_ASSIGN_OR_RETURN(
      const auto deployment,
      engine::OpenDeployment(options.deployment, engine::DeploymentAccess::kReadOnly));
  std::printf("Made %s: %d parts, %s\n\n", options.deployment.c_str(),
              deployment.config.options.mechanism.num_parts, declared.name.c_str());
  std::printf("%s", engine::StatementText(deployment).c_str());
  if (!deployment.mechanism->is_sound() && !options.declared.research) {
    std::printf(
        "\nA research mechanism: `submix serve` will refuse this deployment; --research lets "
        "it.\n");
  }
  return base::OkStatus();
}

}  // namespace

void AddDeployCommand(CLI::App& command, Action& action) {
  auto options = std::make_shared<DeployOptions>();
  command.add_option("ensemble", options->ensemble, "Directory made by `submix train`")
      ->required()
      ->check(CLI::ExistingDirectory);
  command.add_option("deployment", options->deployment, "New directory to make")->required();
  command.add_option("--ledger", options->ledger,
                     "postgresql://[USER@]HOST/DATABASE: the ledger of several servers on one "
                     "budget (without: a file in the deployment, for one server); the password "
                     "comes from ~/.pgpass or PGPASSFILE");
  command.add_option("--mechanism", options->declared.mechanism.name,
                     "One of: " + mechanism::MechanismNames());
  command.add_option("--epsilon", options->declared.epsilon,
                     "Budget of every part: nats of Renyi divergence at --order, for ever");
  command.add_option("--order", options->order, "The Renyi order that binds, in (0, inf]");
  command
      .add_option("--queries", options->queries,
                  "Answers that every part can surely back; sets the cap on one charge to "
                  "epsilon / queries")
      ->check(CLI::PositiveNumber);
  command.add_option("--target-leakage", options->declared.mechanism.target_leakage,
                     "The cap on one charge itself, in nats (instead of --queries)");
  command.add_option("--max-mixing-weight", options->declared.mechanism.max_mixing_weight,
                     "Largest weight of a member against the public model");
  AddMechanismFlags(command, options->mechanism_flags);
  command
      .add_option("--when-exhausted", options->when_exhausted,
                  "What a mechanism with a fixed number of answers, such as dclip, does when they "
                  "are used up: answer from the public model, or refuse")
      ->check(CLI::IsMember({"public", "refuse"}));
  command.add_flag("--research", options->declared.research,
                   "Let `submix serve` answer although the guarantee is not proven; the model's "
                   "name then ends in -research");
  command.footer(
      "A budget belongs to the data: it is never reset, and an ensemble has one deployment.\n"
      "Example: submix deploy my_ensemble my_deployment --epsilon 2 --order 2 --queries 1024");
  command.callback([options, &action] { action = [options] { return RunDeploy(*options); }; });
}

}  // namespace submix::apps
