// `submix deploy`: the only command that creates a ledger.
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "submix/accounting/promise.h"
#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/mechanism_flags.h"
#include "submix/apps/serving/predictor_flags.h"
#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/text_table.h"
#include "submix/engine/deployment.h"
#include "submix/engine/deployment_statement.h"
#include "submix/engine/ledger_view.h"
#include "submix/ensemble/batches.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/external_ensemble.h"
#include "submix/ensemble/training_cost.h"
#include "submix/mechanism/baselines/recommended_options.h"
#include "submix/mechanism/baselines/user_budget.h"
#include "submix/mechanism/research/any_mechanism.h"
#include "submix/model/end_tokens.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;

// --- Models that run outside Submix

struct ExternalFlags {
  std::string digest;  // empty: an ensemble that was trained here
  std::string public_digest;
  std::string partition;  // empty: the digest stands for it
  std::string tokenizer;
  int parts = 0;
  int halves = 1;
  int vocabulary = 0;

  bool is_given() const { return !digest.empty(); }
};

void AddExternalFlags(Flags flags, ExternalFlags& external) {
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

// What the ensemble keeps of the tokenizer's directory: also what the public model has cost.
StatusOr<std::vector<std::string>> FilesOf(const ExternalFlags& external) {
  if (external.tokenizer.empty()) return std::vector<std::string>();
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer,
                          tokenizer::Tokenizer::LoadFor(external.tokenizer, external.vocabulary));
  if (external.vocabulary > tokenizer->vocab_size()) {
    return base::FailedPreconditionError(
        external.tokenizer + ": has " + std::to_string(tokenizer->vocab_size()) +
        " entries, fewer than --vocabulary " + std::to_string(external.vocabulary) +
        ": leave the logits of padding out");
  }
  SUBMIX_RETURN_IF_ERROR(
      model::LoadGenerationEnds(external.tokenizer, external.vocabulary).status());
  SUBMIX_ASSIGN_OR_RETURN(auto names, tokenizer::Tokenizer::FileNames(external.tokenizer));
  if (base::FileExists(base::JoinPath(external.tokenizer, ensemble::kTrainingCostFile))) {
    names.emplace_back(ensemble::kTrainingCostFile);
  }
  return names;
}

// 64 lower-case hex digits.
StatusOr<std::string> DigestOf(const std::string& flag, const std::string& digits) {
  const auto digest = base::Sha256FromHex(digits);
  if (digest.ok()) return base::ToHex(*digest);
  return base::InvalidArgumentError(flag + ": expected 64 hex digits, found " + digits);
}

// The manifest that the flags say. Errors: those of the tokenizer's files; kInvalidArgument for a
// digest that is none; kFailedPrecondition for a tokenizer that does not fit the vocabulary.
// Requires: external.is_given().
StatusOr<ensemble::Manifest> ManifestOf(const ExternalFlags& external) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string hex, DigestOf("--external", external.digest));
  ensemble::ExternalModels models = {hex, external.vocabulary};
  if (!external.public_digest.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(models.public_sha256,
                            DigestOf("--public-digest", external.public_digest));
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto files, FilesOf(external));
  return ensemble::ExternalManifest(models, external.partition.empty() ? hex : external.partition,
                                    external.parts, external.halves, external.tokenizer, files);
}

// A budget belongs to the data: the same models in another directory are the same ensemble. Errors:
// kAlreadyExists for one beside `ensemble_directory` that is deployed, unless one of the
// deployments `after` is its own; those of reading these.
Status CheckIsDeployedNowhereElse(const ensemble::Manifest& manifest,
                                  const std::string& ensemble_directory,
                                  const std::vector<std::string>& after) {
  std::set<std::string> counted_in;
  for (const std::string& deployment : after) {
    SUBMIX_ASSIGN_OR_RETURN(const auto config, engine::LoadDeploymentConfig(deployment));
    counted_in.insert(config.lineage);
  }
  for (const std::string& directory : ensemble::EnsemblesBeside(ensemble_directory)) {
    const auto other = ensemble::LoadManifest(directory);
    if (!other.ok() || !other->external || other->external->sha256 != manifest.external->sha256) {
      continue;
    }
    for (const ensemble::DeploymentEntry& entry : other->deployments) {
      if (counted_in.contains(entry.lineage)) continue;
      return base::AlreadyExistsError(
          directory + ": the same external ensemble, deployed as " + entry.name +
          "; a budget belongs to the data, so a second one would add to it: use that deployment, "
          "or count it in with --after");
    }
  }
  return base::OkStatus();
}

// --- The command

struct DeployOptions {
  std::string ensemble;
  std::string deployment;
  std::string ledger;
  std::vector<std::string> after;
  std::string unit = "part";
  std::string when_exhausted = "public";
  bool dry_run = false;
  bool replaces = false;
  std::int64_t queries = 1024;
  MechanismFlags mechanism_flags;
  ExternalFlags external;
  engine::DeploymentOptions declared;
};

Status DeclareBudget(const DeployOptions& options, const ensemble::Manifest& manifest,
                     engine::DeploymentOptions& declared) {
  mechanism::AskedBudget asked = {.epsilon = declared.epsilon,
                                  .for_users = options.unit == "user",
                                  .delta = declared.delta,
                                  .queries = options.queries};
  if (options.mechanism_flags.Has("order")) asked.order = declared.mechanism.order;
  // An external ensemble is made of the tokenizer's directory once this has succeeded.
  const std::string public_directory = options.external.tokenizer.empty()
                                           ? ensemble::PublicDirectory(options.ensemble)
                                           : options.external.tokenizer;
  return engine::DeclareBudget(public_directory, manifest, options.after, asked,
                               mechanism::MakeAnyMechanism, declared);
}

// How many users there are depends on who is in the corpus: what follows is the operator's.
void PrintCaution(double delta, const ensemble::Manifest& manifest) {
  if (manifest.users.value_or(0) == 0) return;
  const std::string caution = accounting::DeltaCaution(delta, static_cast<double>(*manifest.users));
  if (caution.empty()) return;
  std::printf("\n");
  for (const std::string& line : base::WrappedLines("For you alone: " + caution + ".")) {
    std::printf("%s\n", line.c_str());
  }
}

// What the promise is for: said with every declaration.
void PrintPromise(const engine::Deployment& deployment) {
  std::printf("%s", engine::DeploymentPromise(deployment).ToText().c_str());
  const engine::DeploymentOptions& options = deployment.config.options;
  const ledger::Account part = {"", accounting::FixedNats::RoundDown(options.epsilon),
                                deployment.config.earlier.most};
  std::printf("\nEvery part can surely back %lld answers.\n",
              static_cast<long long>(engine::SureAnswers(part, options.mechanism.target_leakage)));
}

Status PrintPlan(const DeployOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(
      const engine::Deployment planned,
      engine::PlanDeployment(options.ensemble, options.declared, mechanism::MakeAnyMechanism,
                             options.after, options.replaces ? options.deployment : ""));
  std::printf("Would make %s: %d parts, %s; nothing is written\n\n", options.deployment.c_str(),
              planned.config.options.mechanism.num_parts,
              planned.config.options.mechanism.name.c_str());
  PrintPromise(planned);
  return base::OkStatus();
}

Status DeployOne(DeployOptions options) {
  mechanism::MechanismOptions& declared = options.declared.mechanism;
  const ExternalFlags& external = options.external;
  SUBMIX_ASSIGN_OR_RETURN(const auto manifest, external.is_given()
                                                   ? ManifestOf(external)
                                                   : ensemble::LoadManifest(options.ensemble));
  declared.num_parts = manifest.num_parts;
  mechanism::Recommend(manifest.num_parts, options.queries, declared);
  SUBMIX_RETURN_IF_ERROR(options.mechanism_flags.Apply(declared));
  SUBMIX_RETURN_IF_ERROR(DeclareBudget(options, manifest, options.declared));
  SUBMIX_ASSIGN_OR_RETURN(options.declared.when_exhausted,
                          engine::ParseWhenExhausted(options.when_exhausted));
  if (options.dry_run) return PrintPlan(options);
  if (external.is_given()) {
    SUBMIX_RETURN_IF_ERROR(CheckIsDeployedNowhereElse(manifest, options.ensemble, options.after));
    SUBMIX_RETURN_IF_ERROR(
        ensemble::MakeExternalEnsemble(manifest, external.tokenizer, options.ensemble));
  }
  return engine::CreateDeployment(options.deployment, options.ensemble, options.declared,
                                  options.ledger, mechanism::MakeAnyMechanism, options.after,
                                  options.replaces);
}

Status PrintDeployment(const std::string& deployment_directory, std::size_t batches) {
  SUBMIX_ASSIGN_OR_RETURN(const auto deployment, ReadDeployment(deployment_directory));
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
  PrintCaution(deployment.config.options.delta, deployment.manifest);
  return base::OkStatus();
}

// Batches of users: each gets a budget of its own, and one user's text is in one of them.
Status RunDeploy(const DeployOptions& options) {
  std::vector<std::string> batches;
  if (!options.external.is_given()) {
    SUBMIX_ASSIGN_OR_RETURN(batches, ensemble::BatchesIn(options.ensemble));
  }
  if (batches.empty()) {
    SUBMIX_RETURN_IF_ERROR(DeployOne(options));
    return options.dry_run ? base::OkStatus() : PrintDeployment(options.deployment, 1);
  }
  if (!options.ledger.empty() || !options.after.empty()) {
    return base::InvalidArgumentError(options.ensemble +
                                      ": holds batches, which take no --ledger and no --after; "
                                      "deploy its directories one by one");
  }
  for (std::size_t batch = 0; batch < batches.size(); ++batch) {
    DeployOptions one = options;
    one.ensemble = batches[batch];
    one.deployment = ensemble::BatchDirectory(options.deployment, static_cast<int>(batch),
                                              static_cast<int>(batches.size()));
    SUBMIX_RETURN_IF_ERROR(DeployOne(one));
    if (options.dry_run) return base::OkStatus();  // the others are like the first
  }
  return PrintDeployment(
      ensemble::BatchDirectory(options.deployment, 0, static_cast<int>(batches.size())),
      batches.size());
}

}  // namespace

void AddDeployCommand(CLI::App& command, Action& action) {
  DeployOptions& options = SetAction<DeployOptions>(command, action, RunDeploy);
  Flags flags(command);
  flags.Require(
      "ensemble", options.ensemble,
      "Directory made by `submix train` or `submix contexts`; with --external, the one to make");
  flags.Require("deployment", options.deployment, "New directory to make");
  flags.Add(
      "--ledger", options.ledger,
      "postgresql://[USER@]HOST/DATABASE: the ledger of several servers on one budget (without: a "
      "file in the deployment, for one server); the password comes from ~/.pgpass or PGPASSFILE");
  AddExternalFlags(command, options.external);
  flags.Add("--mechanism", options.declared.mechanism.name,
            "One of: " + mechanism::AnyMechanismNames());
  flags.Add("--epsilon", options.declared.epsilon,
            "Budget for ever. Of every part: nats of Renyi divergence at --order");
  AddPromiseFlags(flags, options.unit, options.declared.delta);
  flags.Add(
      "--queries", options.queries, kCount,
      "Answers that every part can surely back, with what --after counts in taken from them; sets "
      "the cap on one charge to epsilon / queries");
  options.mechanism_flags.AddTo(command, MechanismFlags::Takes::kOneValue);
  flags.Add(
      "--after", options.after,
      "Deployments that answered from any of the same users before, with commas between: they "
      "end, and what they have cost counts against this budget");
  flags
      .Add("--dry-run", options.dry_run,
           "Print what would be promised and how many answers it backs; write nothing")
      ->excludes("--external");
  flags.Add("--replace", options.replaces,
            "Take back the deployment in that directory, if it has charged nothing, and make this "
            "one instead; the old one ends and is kept as DIRECTORY.replaced-1");
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
      "Example: submix deploy my_ensemble my_deployment --epsilon 2 --queries 1024\n"
      "         submix deploy my_ensemble my_deployment --unit user --epsilon 8 --queries 1024");
}

}  // namespace submix::apps
