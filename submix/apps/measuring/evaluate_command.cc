// `submix evaluate`: held-out perplexity of mechanisms and baselines, one pass over the models.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "submix/accounting/rdp_conversion.h"
#include "submix/apps/interrupt.h"
#include "submix/apps/measuring/corpus_flags.h"
#include "submix/apps/measuring/evaluation_sheet.h"
#include "submix/apps/measuring/kept_measurement.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/report.h"
#include "submix/apps/serving/any_deployment.h"
#include "submix/apps/serving/mechanism_flags.h"
#include "submix/apps/serving/model_flags.h"
#include "submix/base/file_system.h"
#include "submix/engine/deployment_statement.h"
#include "submix/engine/ledger_view.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/eval/measuring/evaluation.h"
#include "submix/eval/measuring/promised_settings.h"
#include "submix/mechanism/declaring/recommended_options.h"
#include "submix/mechanism/declaring/user_budget.h"
#include "submix/mechanism/research/any_mechanism.h"
#include "submix/workbench/models/open_models.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;

constexpr std::int64_t kMostTokens = 1'000'000'000;

struct EvaluateOptions {
  std::string target;  // an ensemble or a deployment
  corpus::CorpusFile corpus;
  std::string loss;  // empty: as the ensemble was trained
  std::string heldout;
  std::vector<std::string> labels;  // not empty: of --heldout, they are scored alone
  std::string fine_tuned;
  std::string csv;
  std::string by_user;
  std::string checkpoint;
  std::vector<std::string> mechanisms = {"filtered-submix"};
  std::vector<double> epsilons = {2};
  std::vector<std::string> units = {"part"};
  double delta = accounting::kDefaultDelta;
  MechanismFlags mechanism_flags;
  workbench::ModelOptions predictor;
  std::vector<std::int64_t> tokens;  // empty: kTokens, or what the text has room for
  std::optional<int> runs;           // none: kRuns, likewise
  // Of a deployment without them, its own.
  const CLI::Option* mechanisms_said = nullptr;
  std::uint64_t seed = 0;
  bool json = false;
};

constexpr std::int64_t kTokens = 1024;
constexpr int kRuns = 4;

// What is evaluated, and how it is deployed; none: it is an ensemble.
struct EvaluatedModels {
  ensemble::OpenedEnsemble ensemble;
  std::optional<engine::DeploymentConfig> declared;
};

StatusOr<EvaluatedModels> OpenTarget(const std::string& directory) {
  EvaluatedModels models;
  if (base::FileExists(engine::DeploymentConfigPath(directory))) {
    SUBMIX_ASSIGN_OR_RETURN(engine::Deployment deployment, ReadDeployment(directory));
    models.ensemble = std::move(deployment.ensemble);
    models.declared = deployment.config;
  } else {
    SUBMIX_ASSIGN_OR_RETURN(models.ensemble, ensemble::OpenedEnsemble::Open(directory));
  }
  return models;
}

// What was said or, of a deployment without it, what it surely backs.
eval::RunLengths Wished(const EvaluateOptions& options,
                        const std::optional<engine::DeploymentConfig>& declared) {
  eval::RunLengths lengths = {options.runs.value_or(kRuns), options.tokens};
  if (!lengths.tokens.empty()) return lengths;
  lengths.tokens = {kTokens};
  if (!declared) return lengths;
  const std::int64_t sure = engine::SureTokens(*declared);
  if (sure >= 1 && sure <= kMostTokens) lengths.tokens = {sure};
  return lengths;
}

// One copy of every setting for every value; without any, the settings as they are.
template <typename Value, typename Set>
void Multiply(std::vector<eval::EvaluationSetting>& settings, const std::vector<Value>& values,
              const Set& set) {
  if (values.empty()) return;
  std::vector<eval::EvaluationSetting> product;
  for (const eval::EvaluationSetting& setting : settings) {
    for (const Value& value : values) set(product.emplace_back(setting), value);
  }
  settings = std::move(product);
}

// One copy of every setting for every value that is given of the option.
Status MultiplyBy(const mechanism::MechanismOption& option, const MechanismFlags& flags,
                  std::vector<eval::EvaluationSetting>& settings) {
  Status status;
  Multiply(settings, flags.Given(option.path),
           [&](eval::EvaluationSetting& setting, const std::string& text) {
             if (status.ok()) status = SetText(option, text, setting.mechanism);
           });
  return status;
}

// Every combination of the lists is one setting.
StatusOr<std::vector<eval::EvaluationSetting>> Settings(const EvaluateOptions& options,
                                                        const std::vector<std::int64_t>& tokens,
                                                        int num_parts) {
  using Setting = eval::EvaluationSetting;
  std::vector<Setting> settings(1);
  Multiply(settings, tokens, [](Setting& s, std::int64_t value) { s.tokens = value; });
  Multiply(settings, options.mechanisms,
           [](Setting& s, const std::string& value) { s.mechanism.name = value; });
  for (Setting& setting : settings) {
    setting.mechanism.num_parts = num_parts;
    setting.mechanism.order = mechanism::RecommendedOrder();
    mechanism::Recommend(num_parts, setting.tokens, setting.mechanism);
  }
  for (const mechanism::MechanismOption& option : mechanism::MechanismOptionsTable()) {
    SUBMIX_RETURN_IF_ERROR(MultiplyBy(option, options.mechanism_flags, settings));
    if (option.path != "order") continue;
    Multiply(settings, options.epsilons, [](Setting& s, double value) { s.epsilon = value; });
  }
  return settings;
}

// Every setting for every unit: a part's as it is, a user's with the budget that keeps it. Also
// what each promises to a user; none: to a part.
Status AddForUnits(const EvaluateOptions& options, const eval::RunLengths& lengths,
                   bool public_keys, eval::EvaluationPlan& plan, EvaluationSheet& sheet) {
  SUBMIX_ASSIGN_OR_RETURN(const auto settings, Settings(options, lengths.tokens, plan.num_parts));
  const double delta = options.mechanism_flags.Has("order") ? 0 : options.delta;
  for (const std::string& unit : options.units) {
    for (eval::EvaluationSetting setting : settings) {
      auto& promise = sheet.promises.emplace_back();
      if (unit == "user") {
        promise = mechanism::UserPromise{.epsilon = setting.epsilon,
                                         .order = setting.mechanism.order,
                                         .delta = delta,
                                         .public_keys = public_keys,
                                         .public_training = sheet.public_training};
        SUBMIX_ASSIGN_OR_RETURN(setting, eval::KeepPromise(setting, *promise));
      }
      plan.settings.push_back(std::move(setting));
    }
  }
  return base::OkStatus();
}

// The deployment's own setting.
void AddDeclared(const engine::DeploymentOptions& declared, const eval::RunLengths& lengths,
                 eval::EvaluationPlan& plan, EvaluationSheet& sheet) {
  for (const std::int64_t tokens : lengths.tokens) {
    eval::EvaluationSetting& setting = plan.settings.emplace_back();
    setting.mechanism = declared.mechanism;
    setting.epsilon = declared.epsilon;
    setting.tokens = tokens;
    sheet.promises.emplace_back();
  }
}

// What of these runs is scored, in place of what the plan had.
Status PlanSettings(const EvaluateOptions& options, const EvaluatedModels& target,
                    const eval::RunLengths& lengths, eval::EvaluationPlan& plan,
                    EvaluationSheet& sheet) {
  plan.runs = lengths.runs;
  plan.settings.clear();
  sheet.promises.clear();
  if (target.declared) AddDeclared(target.declared->options, lengths, plan, sheet);
  if (target.declared && options.mechanisms_said->empty()) return base::OkStatus();
  return AddForUnits(options, lengths, target.ensemble.manifest().has_public_keys(), plan, sheet);
}

// Fewer runs, and fewer tokens, where the text is short and nobody said how many: in one line.
eval::RunLengths Fitting(const EvaluateOptions& options, const eval::RunLengths& wished,
                         std::int64_t positions) {
  const eval::RunLengths fitting = eval::FitToText(positions, wished);
  const bool is_asked_for = (options.runs && fitting.runs != wished.runs) ||
                            (!options.tokens.empty() && fitting.tokens != wished.tokens);
  if (fitting == wished || is_asked_for) return wished;
  std::fprintf(stderr,
               "submix evaluate: a short text of %lld positions: --runs %d of --tokens %lld\n",
               static_cast<long long>(positions), fitting.runs,
               static_cast<long long>(std::ranges::max(fitting.tokens)));
  return fitting;
}

Status CheckUnits(const EvaluateOptions& options) {
  if (options.mechanism_flags.Has("target_leakage") &&
      std::ranges::count(options.units, "user") > 0) {
    return base::InvalidArgumentError(
        "--target-leakage: follows from the promise where --unit is user; leave it out");
  }
  return base::OkStatus();
}

StatusOr<eval::HeldoutText> LoadHeldout(const EvaluateOptions& options,
                                        const ensemble::OpenedEnsemble& ensemble,
                                        const corpus::RecordEncoder& encoder, int context_length) {
  const ensemble::Manifest& manifest = ensemble.manifest();
  if (!options.heldout.empty()) {
    corpus::CorpusFile heldout = options.corpus;
    heldout.path = options.heldout;
    if (!options.labels.empty()) {
      return eval::LabelsFromFile(heldout, encoder, options.labels, context_length);
    }
    return eval::HeldoutFromFile(heldout, encoder, context_length);
  }
  SUBMIX_ASSIGN_OR_RETURN(
      const auto key, corpus::LoadPartitionKey(ensemble::PartitionKeyPath(ensemble.directory())));
  SUBMIX_ASSIGN_OR_RETURN(
      const auto corpus,
      corpus::PartitionCorpus(options.corpus, encoder, key,
                              {manifest.num_parts, manifest.halves, manifest.heldout_fraction}));
  return eval::HeldoutFromUsers(corpus.heldout, context_length);
}

// What of conversations is scored: what is said or, without it, what the members learnt.
StatusOr<corpus::Loss> ScoredLoss(const EvaluateOptions& options,
                                  const ensemble::Manifest& manifest) {
  if (options.loss.empty()) return ensemble::LossFrom(manifest.hyper_parameters);
  return LossOf(options.loss);
}

std::string WhatIsScored(const eval::HeldoutText& text, corpus::Loss loss) {
  const eval::HeldoutBlocks& blocks = text.blocks;
  const std::int64_t scored = eval::CountScoredTokens(blocks);
  if (!text.choices.empty()) return "labels alone, " + std::to_string(scored);
  const std::int64_t all = eval::CountPredictedTokens(blocks);
  if (loss == corpus::Loss::kAll) return "all of " + std::to_string(all) + " tokens";
  if (scored == all) return "";
  return "answers only, " + std::to_string(scored) + " of " + std::to_string(all) + " tokens";
}

StatusOr<eval::EvaluationCheckpoint> Checkpoint(
    const EvaluateOptions& options, const ensemble::OpenedEnsemble& ensemble,
    const std::vector<ensemble::OpenedEnsemble>& fine_tuned) {
  eval::EvaluationCheckpoint checkpoint;
  if (options.checkpoint.empty()) return checkpoint;
  checkpoint.path = options.checkpoint;
  std::vector<ensemble::OpenedEnsemble> ensembles = {ensemble};
  ensembles.insert(ensembles.end(), fine_tuned.begin(), fine_tuned.end());
  SUBMIX_ASSIGN_OR_RETURN(checkpoint.models, workbench::ModelsDigest(options.predictor, ensembles));
  return checkpoint;
}

// What the budgets of what was scored mean.
Status State(const ensemble::Manifest& manifest, double delta, EvaluationSheet& sheet) {
  const auto state = [&](const eval::EvaluationSetting& setting) {
    return eval::StatementOf(setting, delta, manifest.has_public_keys());
  };
  for (const eval::SettingResult& result : sheet.result.settings) {
    SUBMIX_ASSIGN_OR_RETURN(sheet.statements.emplace_back(), state(result.setting));
  }
  SUBMIX_ASSIGN_OR_RETURN(sheet.public_statement,
                          state(eval::PublicModelAlone(manifest.num_parts)));
  return base::OkStatus();
}

Status RunEvaluate(const EvaluateOptions& options) {
  if (!options.checkpoint.empty()) SayGoesOnAtInterrupt();
  if (options.corpus.path.empty() == options.heldout.empty()) {
    return base::InvalidArgumentError(
        "give either --corpus (its held-out users are scored) or --heldout (all of it is)");
  }
  SUBMIX_RETURN_IF_ERROR(CheckUnits(options));
  SUBMIX_ASSIGN_OR_RETURN(const EvaluatedModels target, OpenTarget(options.target));
  const ensemble::OpenedEnsemble& ensemble = target.ensemble;
  const ensemble::Manifest& manifest = ensemble.manifest();
  eval::EvaluationPlan plan;
  plan.seed = options.seed;
  plan.num_parts = manifest.num_parts;
  plan.halves = manifest.halves;
  EvaluationSheet sheet;
  SUBMIX_ASSIGN_OR_RETURN(sheet.public_training,
                          engine::PublicTrainingOf(ensemble.public_directory(), manifest));
  const eval::RunLengths wished = Wished(options, target.declared);
  SUBMIX_RETURN_IF_ERROR(PlanSettings(options, target, wished, plan, sheet));
  std::vector<ensemble::OpenedEnsemble> fine_tuned;
  if (!options.fine_tuned.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(fine_tuned.emplace_back(),
                            ensemble::OpenedEnsemble::Open(options.fine_tuned));
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer, workbench::LoadTokenizer(ensemble));
  SUBMIX_ASSIGN_OR_RETURN(
      const auto predictor,
      workbench::LoadEnsemble(options.predictor, *tokenizer, ensemble, fine_tuned));
  SUBMIX_ASSIGN_OR_RETURN(const corpus::Loss loss, ScoredLoss(options, manifest));
  const corpus::RecordEncoder encoder(*tokenizer, ensemble.public_directory(), loss);
  SUBMIX_ASSIGN_OR_RETURN(auto text,
                          LoadHeldout(options, ensemble, encoder, predictor->context_length()));
  sheet.has_labels = !text.choices.empty();
  sheet.scored = WhatIsScored(text, loss);
  plan.num_fine_tuned = predictor->num_members() - manifest.num_parts * manifest.halves;
  if (plan.num_fine_tuned > 1) {
    return base::InvalidArgumentError("--fine-tuned: " + options.fine_tuned + " has " +
                                      std::to_string(plan.num_fine_tuned) +
                                      " members; give an ensemble of one part (--parts 1)");
  }
  SUBMIX_RETURN_IF_ERROR(
      PlanSettings(options, target, Fitting(options, wished, eval::CountScoredTokens(text.blocks)),
                   plan, sheet));
  SUBMIX_ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint(options, ensemble, fine_tuned));
  base::ProgressBar progress("Scoring", eval::NumPositions(plan), "tokens");
  SUBMIX_ASSIGN_OR_RETURN(sheet.result,
                          eval::Evaluate(*predictor, text, plan, progress, checkpoint));
  progress.Finish();
  SUBMIX_RETURN_IF_ERROR(State(manifest, options.delta, sheet));
  SUBMIX_ASSIGN_OR_RETURN(const eval::Measurement measurement,
                          MeasuredNow("evaluate",
                                      "Held-out text: " + std::to_string(plan.runs) +
                                          " runs of the most tokens of a setting",
                                      ensemble.fingerprint(), EvaluationRows(sheet)));
  const std::string kept = KeepBesideDeployment(measurement, options.target);
  if (options.json) {
    PrintEvaluationJson(sheet);
  } else {
    PrintEvaluationTable(sheet);
    if (!kept.empty()) std::printf("\n%s", Paragraph(kept).c_str());
  }
  if (!options.csv.empty()) SUBMIX_RETURN_IF_ERROR(WriteEvaluationCsv(options.csv, sheet));
  if (options.by_user.empty()) return base::OkStatus();
  text.users.erase(std::unique(text.users.begin(), text.users.end()), text.users.end());
  return WriteUserLossesCsv(options.by_user, sheet, text.users);
}

}  // namespace

void AddEvaluateCommand(CLI::App& command, Action& action) {
  EvaluateOptions& options = SetAction<EvaluateOptions>(command, action, RunEvaluate);
  Flags flags(command);
  flags.Require("target", options.target, kDirectory,
                "Directory of an ensemble (`submix train`, `submix contexts`), or of a deployment: "
                "its own mechanism and budget are then scored, and others only if they are named");
  flags.Add("--corpus", options.corpus.path, "The training corpus: its held-out users are scored");
  CLI::Option* const heldout = flags.Add("--heldout", options.heldout,
                                         "Or other text: .jsonl or .csv (every user), or plain");
  flags
      .Add("--labels", options.labels,
           "Score how often models are right about these, a,b,c: the completions of --heldout, "
           "whose records each have a \"prompt\" and one of them")
      ->needs(heldout);
  AddColumnFlags(flags, options.corpus);
  AddLossFlag(flags, options.loss, "as trained", "scores");
  flags.Add("--fine-tuned", options.fine_tuned,
            "An ensemble of one part, trained on all private text: the baseline");
  options.mechanisms_said =
      flags
          .Add("--mechanism", options.mechanisms, "One or more: " + mechanism::AnyMechanismNames())
          ->check(MechanismName());
  flags.Add("--epsilon", options.epsilons, "One or more budgets, nats");
  AddPromiseFlags(flags, options.units, options.delta);
  options.mechanism_flags.AddTo(command, MechanismFlags::Takes::kSeveral);
  AddModelFlags(command, options.predictor);
  flags
      .Add("--tokens,--queries", options.tokens, Between(1, kMostTokens),
           "One or more numbers of tokens under one budget (the papers' B); of a deployment "
           "without it, those that it surely backs")
      ->default_str(std::to_string(kTokens));
  flags
      .Add("--runs", options.runs, kPositive,
           "Disjoint stretches of the most --tokens, each with a fresh budget; fewer tokens are "
           "more runs on the same text. Without: as many as a short text has room for")
      ->default_str(std::to_string(kRuns));
  flags.Add("--seed", options.seed,
            "Of what the mechanisms draw: the same command gives the same numbers");
  flags.Add("--checkpoint", options.checkpoint,
            "Keep finished runs in this file; the same command goes on after them");
  flags.Add("--csv", options.csv, kOutputFile, "Also write a CSV file");
  flags.Add(
      "--by-user", options.by_user, kOutputFile,
      "Also write a CSV file of what each held-out user's text lost, in nats: names the users");
  flags.Add("--json", options.json, "One JSON object");
  command.footer(
      "All combinations are scored in one pass over the models.\n"
      "Interrupted? With --checkpoint the same command goes on after the last finished run and\n"
      "gives the numbers of an uninterrupted one; with other models, text or options it refuses.\n"
      "Example: submix evaluate my_ensemble --corpus text.jsonl --epsilon 1,2,4 --order 2,8 \\\n"
      "             --tokens 1024,10240 --checkpoint my_ensemble.evaluation\n"
      "         submix evaluate my_ensemble --corpus text.jsonl --unit user --epsilon 8");
}

}  // namespace submix::apps
