// `submix deploy`: the only command that creates a ledger.
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/declared_file.h"
#include "submix/apps/serving/mechanism_flags.h"
#include "submix/base/text_table.h"
#include "submix/engine/deployment.h"
#include "submix/engine/deployment_statement.h"
#include "submix/engine/ledger_view.h"
#include "submix/mechanism/research/any_mechanism.h"
#include "submix/workbench/declaration.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;

// --- Models that run outside Submix

void AddExternalFlags(Flags flags, workbench::ExternalEnsemble& external) {
  CLI::Option* const digest = flags.Add(
      "--external", external.digest,
      "The models run outside Submix: 64 hex digits that identify them, such as SHA-256 of their "
      "weights; the ensemble is then a new directory, or the same again");
  CLI::Option* const parts =
      flags.Add("--parts", external.parts, kPositive, "With --external: parts of the users");
  CLI::Option* const vocabulary = flags.Add("--vocabulary", external.vocabulary, kPositive,
                                            "With --external: numbers in a row of logits");
  CLI::Option* const halves = flags.Add("--halves", external.halves, OneOf({"1", "2"}),
                                        "With --external: members a part, 2 for pairs");
  CLI::Option* const partition = flags.Add(
      "--partition", external.partition,
      "With --external: a name for how the users are divided; --after an ensemble of the same name "
      "and number of parts, each part begins with what it has spent");
  CLI::Option* const tokenizer = flags.Add(
      "--tokenizer", external.tokenizer, kDirectory,
      "With --external: directory of the public model's tokenizer, for `serve` and `generate`; "
      "without it only Python's `submix.open` can answer");
  CLI::Option* const of_public = flags.Add(
      "--public-digest", external.public_digest,
      "With --external: 64 hex digits that identify the public model alone; --after needs it where "
      "that model was trained privately, since only the same one is paid for once");
  digest->needs(parts)->needs(vocabulary);
  for (CLI::Option* const option : {parts, vocabulary, halves, partition, tokenizer, of_public}) {
    option->needs(digest);
  }
}

// --- The command

struct DeployOptions {
  workbench::Declaration declaration;
  workbench::ExternalEnsemble external;  // without a digest: not given
  std::string declared;                  // a file of statements
  std::string unit = "part";
  std::string when_exhausted = "public";
  bool dry_run = false;
  MechanismFlags mechanism_flags;
};

StatusOr<workbench::Declaration> DeclarationOf(const DeployOptions& options) {
  workbench::Declaration declaration = options.declaration;
  declaration.for_users = options.unit == "user";
  declaration.said = options.mechanism_flags.Said();
  if (!options.external.digest.empty()) declaration.external = options.external;
  SUBMIX_ASSIGN_OR_RETURN(declaration.options.when_exhausted,
                          engine::ParseWhenExhausted(options.when_exhausted));
  return declaration;
}

// What the promise is for: said with every declaration.
void PrintPromise(const engine::Deployment& deployment) {
  std::printf("%s", engine::DeploymentPromise(deployment).ToText().c_str());
  const engine::DeploymentOptions& options = deployment.config.options;
  const ledger::Account part = {"", accounting::FixedNats::RoundDown(options.epsilon),
                                deployment.config.earlier.most};
  std::printf("\nEvery part can surely back %lld tokens.\n",
              static_cast<long long>(engine::SureTokens(part, options.mechanism.target_leakage)));
}

Status PrintPlan(const workbench::Declaration& declaration) {
  SUBMIX_ASSIGN_OR_RETURN(const engine::Deployment planned,
                          workbench::PlanDeclared(declaration, mechanism::MakeAnyMechanism));
  std::printf("Would make %s: %d parts, %s; nothing is written\n\n",
              declaration.deployment_directory.c_str(), planned.config.options.mechanism.num_parts,
              planned.config.options.mechanism.name.c_str());
  PrintPromise(planned);
  return base::OkStatus();
}

void PrintDeployment(const std::string& deployment_directory, const engine::Deployment& deployment,
                     std::size_t batches) {
  std::printf("Made %s: %d parts, %s\n\n", deployment_directory.c_str(),
              deployment.config.options.mechanism.num_parts,
              deployment.config.options.mechanism.name.c_str());
  PrintPromise(deployment);
  std::printf(
      "Budgets over the same users add up; a deployment not named by --after is not counted "
      "in.\n");
  if (batches > 1) {
    std::printf(
        "The other %zu batches were deployed alike. One user's text is in one batch: what is "
        "promised here is promised for all of them together.\n",
        batches - 1);
  }
  if (!deployment.mechanism->is_sound() && !deployment.config.options.research) {
    std::printf(
        "\nA research mechanism: `submix serve` will refuse this deployment; --research lets "
        "it.\n");
  }
  const std::string caution = workbench::CautionOf(deployment);
  if (caution.empty()) return;
  std::printf("\n");
  for (const std::string& line : base::WrappedLines(caution)) std::printf("%s\n", line.c_str());
}

Status RunDeploy(const DeployOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const workbench::Declaration declaration, DeclarationOf(options));
  SUBMIX_ASSIGN_OR_RETURN(const auto batches, workbench::ForBatches(declaration));
  if (!options.declared.empty()) SUBMIX_RETURN_IF_ERROR(ReadDeclared(options.declared).status());
  if (options.dry_run) return PrintPlan(batches.front());  // the others are like the first
  SUBMIX_ASSIGN_OR_RETURN(const engine::Deployment first,
                          workbench::Declare(batches.front(), mechanism::MakeAnyMechanism));
  for (const workbench::Declaration& batch : std::span(batches).subspan(1)) {
    SUBMIX_RETURN_IF_ERROR(workbench::Declare(batch, mechanism::MakeAnyMechanism).status());
  }
  for (const workbench::Declaration& batch : batches) {
    if (options.declared.empty()) break;
    SUBMIX_RETURN_IF_ERROR(Declare(options.declared, batch.deployment_directory));
  }
  PrintDeployment(batches.front().deployment_directory, first, batches.size());
  return base::OkStatus();
}

}  // namespace

void AddDeployCommand(CLI::App& command, Action& action) {
  DeployOptions& options = SetAction<DeployOptions>(command, action, RunDeploy);
  workbench::Declaration& declaration = options.declaration;
  Flags flags(command);
  flags.Require(
      "ensemble", declaration.ensemble_directory,
      "Directory made by `submix train` or `submix contexts`; with --external, the one to make");
  flags.Require("deployment", declaration.deployment_directory, "New directory to make");
  flags.Add(
      "--ledger", declaration.ledger_location,
      "postgresql://[USER@]HOST/DATABASE: the ledger of several servers on one budget (without: a "
      "file in the deployment, for one server); the password comes from ~/.pgpass or PGPASSFILE");
  AddExternalFlags(command, options.external);
  flags.Add("--mechanism", declaration.options.mechanism.name,
            "One of: " + mechanism::AnyMechanismNames());
  flags.Add("--epsilon", declaration.options.epsilon,
            "Budget for ever. Of every part: nats of Renyi divergence at --order");
  AddPromiseFlags(flags, options.unit, declaration.options.delta);
  flags.Add(
      "--tokens,--queries", declaration.tokens, kCount,
      "Tokens that every part can surely pay for, with what --after counts in taken from them; "
      "sets the cap on one charge to epsilon / tokens");
  options.mechanism_flags.AddTo(command, MechanismFlags::Takes::kOneValue);
  flags.Add(
      "--after", declaration.after,
      "Deployments that answered from any of the same users before, with commas between: they "
      "end, and what they have cost counts against this budget");
  flags
      .Add("--dry-run", options.dry_run,
           "Print what would be promised and how many tokens it backs; write nothing")
      ->excludes("--external");
  flags.Add("--replace", declaration.replaces,
            "Take back the deployment in that directory, if it has charged nothing, and make this "
            "one instead; the old one ends and is kept as DIRECTORY.replaced-1");
  flags.Add("--declare", options.declared, kFile,
            "TOML file of statements for `submix report`: public_model, other_releases, retention, "
            "key_holders; `submix declare` adds or changes them later");
  flags.Add("--when-exhausted", options.when_exhausted, OneOf({"public", "refuse"}),
            "What a mechanism with a fixed number of tokens, such as dclip, does when they are "
            "used up: answer from the public model, or refuse");
  flags.Add("--research", declaration.options.research,
            "Let `submix serve` answer although the guarantee is not proven; the model's name then "
            "ends in -research");
  command.footer(
      "A budget belongs to the data: it is never reset, and an ensemble has one deployment. Who\n"
      "trains on the same users again goes on with --after. Every part then begins with what all\n"
      "have spent alike (mechanisms such as dclip), or with the whole earlier budget (others);\n"
      "under the same partition key and number of parts, with what the part itself has spent.\n"
      "Example: submix deploy my_ensemble my_deployment --epsilon 2 --tokens 1024\n"
      "         submix deploy my_ensemble my_deployment --unit user --epsilon 8 --tokens 1024");
}

}  // namespace submix::apps
