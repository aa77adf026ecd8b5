// `submix deploy`: the only command that creates a ledger.
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/report.h"
#include "submix/apps/serving/declared_file.h"
#include "submix/apps/serving/mechanism_flags.h"
#include "submix/engine/deployment.h"
#include "submix/engine/deployment_statement.h"
#include "submix/engine/ledger_view.h"
#include "submix/eval/measuring/expected_answers.h"
#include "submix/eval/measuring/expected_share.h"
#include "submix/mechanism/research/any_mechanism.h"
#include "submix/model/decoder_config.h"
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
  bool json = false;
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

// What deploy says of what it made or would make.
struct Outcome {
  std::string directory;
  const engine::Deployment& deployment;
  eval::ExpectedAnswers expected = {};
  std::size_t batches = 1;
  bool is_made = false;

  std::string caution() const { return workbench::CautionOf(deployment); }
  std::int64_t sure_tokens() const { return engine::SureTokens(deployment.config); }
};

StatusOr<eval::ExpectedAnswers> Expect(const engine::Deployment& deployment) {
  const ensemble::Manifest& manifest = deployment.ensemble.manifest();
  std::optional<eval::MeasuredModel> model;
  if (!manifest.external) {
    SUBMIX_ASSIGN_OR_RETURN(const auto config,
                            model::LoadConfigOf(deployment.ensemble.public_directory()));
    model = eval::MeasuredModelLike(config.family, config.layers, config.width);
  }
  return eval::ExpectAnswers(manifest, deployment.config.options.mechanism, model);
}

void PrintJson(const Outcome& outcome) {
  const mechanism::MechanismOptions& mechanism = outcome.deployment.config.options.mechanism;
  const auto& kept = outcome.expected.kept;
  const nlohmann::ordered_json object = {
      {"deployment", outcome.directory},
      {"made", outcome.is_made},
      {"batches", outcome.batches},
      {"parts", mechanism.num_parts},
      {"mechanism", mechanism.name},
      {"order", OrderJson(mechanism.order)},
      {"epsilon", outcome.deployment.config.options.epsilon},
      {"target_leakage", mechanism.target_leakage},
      {"sure_tokens", outcome.sure_tokens()},
      {"promise", accounting::PromiseJson<nlohmann::ordered_json>(
                      engine::DeploymentPromise(outcome.deployment))},
      {"expected_kept", kept ? nlohmann::ordered_json(*kept) : nlohmann::ordered_json()},
      {"expected", outcome.expected.sentence},
      {"caution", outcome.caution()}};
  std::printf("%s\n", object.dump().c_str());
}

void PrintText(const Outcome& outcome) {
  const engine::Deployment& deployment = outcome.deployment;
  const mechanism::MechanismOptions& mechanism = deployment.config.options.mechanism;
  const auto print = [](const std::string& text) { std::printf("%s", Paragraph(text).c_str()); };
  print((outcome.is_made ? "Made " : "Would make ") + outcome.directory + ": " +
        std::to_string(mechanism.num_parts) + " parts, " + mechanism.name +
        (outcome.is_made ? "" : "; nothing is written"));
  std::printf("\n%s", engine::DeploymentPromise(deployment).ToText().c_str());
  std::printf("\nEvery part can surely back %lld tokens.\n",
              static_cast<long long>(outcome.sure_tokens()));
  if (!outcome.expected.sentence.empty()) {
    print("For you alone: " + outcome.expected.sentence + ".");
  }
  if (outcome.is_made) {
    print(
        "Budgets over the same users add up; a deployment not named by --after is not counted in.");
  }
  if (outcome.batches > 1) {
    print("The other " + std::to_string(outcome.batches - 1) +
          " batches were deployed alike. One user's text is in one batch: what is promised here is "
          "promised for all of them together.");
  }
  if (!deployment.mechanism->is_sound() && !deployment.config.options.research) {
    std::printf("\n");
    print("A research mechanism: `submix serve` will refuse this deployment; --research lets it.");
  }
  if (const std::string caution = outcome.caution(); !caution.empty()) {
    std::printf("\n");
    print(caution);
  }
}

Status Print(const DeployOptions& options, Outcome outcome) {
  SUBMIX_ASSIGN_OR_RETURN(outcome.expected, Expect(outcome.deployment));
  if (options.json) {
    PrintJson(outcome);
  } else {
    PrintText(outcome);
  }
  return base::OkStatus();
}

Status RunDeploy(const DeployOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const workbench::Declaration declaration, DeclarationOf(options));
  SUBMIX_ASSIGN_OR_RETURN(const auto batches, workbench::ForBatches(declaration));
  if (!options.declared.empty()) SUBMIX_RETURN_IF_ERROR(ReadDeclared(options.declared).status());
  const std::string& directory = batches.front().deployment_directory;
  if (options.dry_run) {  // the others are like the first
    SUBMIX_ASSIGN_OR_RETURN(const engine::Deployment planned,
                            workbench::PlanDeclared(batches.front(), mechanism::MakeAnyMechanism));
    return Print(options, {.directory = directory, .deployment = planned});
  }
  SUBMIX_ASSIGN_OR_RETURN(const engine::Deployment first,
                          workbench::Declare(batches.front(), mechanism::MakeAnyMechanism));
  for (const workbench::Declaration& batch : std::span(batches).subspan(1)) {
    SUBMIX_RETURN_IF_ERROR(workbench::Declare(batch, mechanism::MakeAnyMechanism).status());
  }
  for (const workbench::Declaration& batch : batches) {
    if (options.declared.empty()) break;
    SUBMIX_RETURN_IF_ERROR(Declare(options.declared, batch.deployment_directory));
  }
  return Print(
      options,
      {.directory = directory, .deployment = first, .batches = batches.size(), .is_made = true});
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
  flags
      .Add("--mechanism", declaration.options.mechanism.name,
           "One of: " + mechanism::AnyMechanismNames())
      ->check(MechanismName());
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
           "Print what would be promised, how many tokens it backs and what to expect; write "
           "nothing")
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
  flags.Add("--json", options.json, "One JSON object");
  command.footer(
      "A budget belongs to the data: it is never reset, and an ensemble has one deployment. Who\n"
      "trains on the same users again goes on with --after. Every part then begins with what all\n"
      "have spent alike (mechanisms such as dclip), or with the whole earlier budget (others);\n"
      "under the same partition key and number of parts, with what the part itself has spent.\n"
      "Example: submix deploy my_ensemble my_deployment --epsilon 2 --tokens 1024\n"
      "         submix deploy my_ensemble my_deployment --unit user --epsilon 8 --tokens 1024");
}

}  // namespace submix::apps
