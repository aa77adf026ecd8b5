// `submix evaluate`: held-out perplexity of mechanisms and baselines, one pass over the models.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "submix/apps/flags.h"
#include "submix/apps/measuring/evaluation_output.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/mechanism_flags.h"
#include "submix/apps/serving/predictor_flags.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/eval/measuring/evaluation.h"
#include "submix/eval/measuring/user_budget.h"
#include "submix/mechanism/mechanism.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;

struct EvaluateOptions {
  std::string ensemble;
  std::string corpus;
  std::string heldout;
  std::string fine_tuned;
  std::string csv;
  std::string checkpoint;
  std::vector<std::string> mechanisms = {"filtered-submix"};
  std::vector<std::string> orders = {"2"};
  std::vector<double> epsilons = {2};
  std::vector<std::string> units = {"part"};
  double delta = 0;
  std::vector<double> target_leakages;
  std::vector<double> max_mixing_weights = {0.6};
  MechanismFlags mechanism_flags;
  PredictorFlags predictor;
  std::vector<std::int64_t> queries = {1024};
  int runs = 4;
  std::uint64_t seed = 0;
  bool json = false;
};

// What is scored, with what it promises to a user; none: to a part.
struct Asked {
  std::vector<eval::EvaluationSetting> settings;
  std::vector<std::optional<eval::UserPromise>> promises;
};

// One copy of every setting for every value.
template <typename Value, typename Set>
void Multiply(std::vector<eval::EvaluationSetting>& settings, const std::vector<Value>& values,
              const Set& set) {
  std::vector<eval::EvaluationSetting> product;
  for (const eval::EvaluationSetting& setting : settings) {
    for (const Value& value : values) set(product.emplace_back(setting), value);
  }
  settings = std::move(product);
}

// Every combination of the lists is one setting.
StatusOr<std::vector<eval::EvaluationSetting>> Settings(const EvaluateOptions& options) {
  using Setting = eval::EvaluationSetting;
  std::vector<divergence::RenyiOrder> orders;
  for (const std::string& text : options.orders) {
    SUBMIX_ASSIGN_OR_RETURN(const auto order, divergence::RenyiOrder::Parse(text));
    orders.push_back(order);
  }
  std::vector<double> leakages = options.target_leakages;
  if (leakages.empty()) leakages.push_back(0);
  std::vector<Setting> settings(1);
  SUBMIX_RETURN_IF_ERROR(options.mechanism_flags.Apply(settings[0].mechanism));
  Multiply(settings, options.queries, [](Setting& s, std::int64_t value) { s.queries = value; });
  Multiply(settings, options.mechanisms,
           [](Setting& s, const std::string& value) { s.mechanism.name = value; });
  Multiply(settings, orders, [](Setting& s, auto value) { s.mechanism.order = value; });
  Multiply(settings, options.epsilons, [](Setting& s, double value) { s.epsilon = value; });
  Multiply(settings, leakages,
           [](Setting& s, double value) { s.mechanism.target_leakage = value; });
  Multiply(settings, options.max_mixing_weights,
           [](Setting& s, double value) { s.mechanism.max_mixing_weight = value; });
  return settings;
}

// Every setting for every unit: a part's as it is, a user's with the budget that keeps it.
StatusOr<Asked> ForUnits(const std::vector<eval::EvaluationSetting>& settings,
                         const EvaluateOptions& options, int num_parts) {
  Asked asked;
  for (const std::string& unit : options.units) {
    for (eval::EvaluationSetting setting : settings) {
      std::optional<eval::UserPromise> promise;
      if (unit == "user") {
        promise = {setting.epsilon, setting.mechanism.order, options.delta};
        setting.mechanism.num_parts = num_parts;
        SUBMIX_ASSIGN_OR_RETURN(setting, eval::KeepUserPromise(setting, *promise));
      }
      asked.settings.push_back(std::move(setting));
      asked.promises.push_back(promise);
    }
  }
  return asked;
}

Status CheckUnits(const EvaluateOptions& options) {
  const auto has = [&](const char* unit) {
    return std::count(options.units.begin(), options.units.end(), unit) > 0;
  };
  if (options.delta > 0 && has("part")) {
    return base::InvalidArgumentError("--delta: a promise to users; give --unit user");
  }
  if (!options.target_leakages.empty() && has("user")) {
    return base::InvalidArgumentError(
        "--target-leakage: follows from the promise where --unit is user; leave it out");
  }
  return base::OkStatus();
}

StatusOr<eval::HeldoutBlocks> LoadHeldout(const EvaluateOptions& options,
                                          const ensemble::Manifest& manifest,
                                          const tokenizer::Tokenizer& tokenizer,
                                          int context_length) {
  if (!options.heldout.empty()) {
    return eval::HeldoutFromFile(options.heldout, tokenizer, context_length);
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto key,
                          corpus::LoadPartitionKey(ensemble::PartitionKeyPath(options.ensemble)));
  SUBMIX_ASSIGN_OR_RETURN(
      const auto corpus,
      corpus::PartitionCorpus(options.corpus, tokenizer, key,
                              {manifest.num_parts, manifest.halves, manifest.heldout_fraction}));
  return eval::HeldoutFromUsers(corpus.heldout, context_length);
}

StatusOr<eval::EvaluationCheckpoint> Checkpoint(const EvaluateOptions& options) {
  eval::EvaluationCheckpoint checkpoint;
  if (options.checkpoint.empty()) return checkpoint;
  checkpoint.path = options.checkpoint;
  std::vector<std::string> ensembles = {options.ensemble};
  if (!options.fine_tuned.empty()) ensembles.push_back(options.fine_tuned);
  SUBMIX_ASSIGN_OR_RETURN(checkpoint.models, ModelsDigest(options.predictor, ensembles));
  return checkpoint;
}

Status RunEvaluate(const EvaluateOptions& options) {
  if (options.corpus.empty() == options.heldout.empty()) {
    return base::InvalidArgumentError(
        "give either --corpus (its held-out users are scored) or --heldout (all of it is)");
  }
  SUBMIX_RETURN_IF_ERROR(CheckUnits(options));
  SUBMIX_ASSIGN_OR_RETURN(const auto manifest, ensemble::LoadManifest(options.ensemble));
  SUBMIX_ASSIGN_OR_RETURN(const auto settings, Settings(options));
  SUBMIX_ASSIGN_OR_RETURN(Asked asked, ForUnits(settings, options, manifest.num_parts));
  std::vector<std::string> extra;
  if (!options.fine_tuned.empty()) extra.push_back(options.fine_tuned);
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer,
                          tokenizer::Tokenizer::Load(ensemble::PublicDirectory(options.ensemble)));
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor,
                          LoadEnsembles(options.predictor, options.ensemble, extra));
  SUBMIX_ASSIGN_OR_RETURN(const auto blocks,
                          LoadHeldout(options, manifest, *tokenizer, predictor->context_length()));
  eval::EvaluationPlan plan;
  plan.settings = std::move(asked.settings);
  plan.runs = options.runs;
  plan.seed = options.seed;
  plan.num_parts = manifest.num_parts;
  plan.halves = manifest.halves;
  plan.num_fine_tuned = predictor->num_members() - manifest.num_parts * manifest.halves;
  SUBMIX_ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint(options));
  base::ProgressBar progress("Scoring", eval::NumPositions(plan), "answers");
  EvaluationSheet sheet;
  sheet.promises = std::move(asked.promises);
  SUBMIX_ASSIGN_OR_RETURN(sheet.result,
                          eval::Evaluate(*predictor, blocks, plan, progress, checkpoint));
  progress.Finish();
  if (!options.csv.empty()) SUBMIX_RETURN_IF_ERROR(WriteEvaluationCsv(options.csv, sheet));
  if (options.json) {
    PrintEvaluationJson(sheet);
  } else {
    PrintEvaluationTable(sheet);
  }
  return base::OkStatus();
}

}  // namespace

void AddEvaluateCommand(CLI::App& command, Action& action) {
  EvaluateOptions& options = SetAction<EvaluateOptions>(command, action, RunEvaluate);
  Flags flags(command);
  flags.Require("ensemble", options.ensemble, kDirectory, "Directory made by `submix train`");
  flags.Add("--corpus", options.corpus, "The training corpus: its held-out users are scored");
  flags.Add("--heldout", options.heldout, "Or other text: .jsonl[.xz] (every user) or plain text");
  flags.Add("--fine-tuned", options.fine_tuned,
            "An ensemble of one part, trained on all private text: the baseline");
  flags.Add("--mechanism", options.mechanisms, "One or more: " + mechanism::MechanismNames());
  flags.Add("--epsilon", options.epsilons, "One or more budgets, nats");
  CLI::Option* const orders = flags.Add("--order", options.orders, "One or more Renyi orders");
  flags.Add("--unit", options.units, OneOf({"part", "user"}),
            "To whom --epsilon and --order are promised: part, user or both. A user's records may "
            "be added, removed or changed: two versions of a part, each near the world without it, "
            "so the budget to declare is smaller, or of a higher order");
  flags
      .Add("--delta", options.delta, Between(0.0, 1.0),
           "With --unit user: --epsilon is that of (epsilon, delta)-DP")
      ->excludes(orders);
  flags.Add("--target-leakage", options.target_leakages,
            "One or more caps on a charge, nats; default epsilon / queries");
  flags.Add("--max-mixing-weight", options.max_mixing_weights, "One or more largest weights");
  AddMechanismFlags(command, options.mechanism_flags);
  AddPredictorFlags(command, options.predictor);
  flags.Add("--queries", options.queries, Between(1, 1'000'000'000),
            "One or more numbers of answers under one budget (the papers' B)");
  flags.Add("--runs", options.runs, kPositive,
            "Disjoint stretches of the most --queries, each with a fresh budget; fewer queries are "
            "more runs on the same text");
  flags.Add("--seed", options.seed,
            "Of what the mechanisms draw: the same command gives the same numbers");
  flags.Add("--checkpoint", options.checkpoint,
            "Keep finished runs in this file; the same command goes on after them");
  flags.Add("--csv", options.csv, "Also write a CSV file");
  flags.Add("--json", options.json, "One JSON object");
  command.footer(
      "All combinations are scored in one pass over the models.\n"
      "Interrupted? With --checkpoint the same command goes on after the last finished run and\n"
      "gives the numbers of an uninterrupted one; with other models, text or options it refuses.\n"
      "Example: submix evaluate my_ensemble --corpus text.jsonl --epsilon 1,2,4 --order 2,8 \\\n   "
      "          --queries 1024,10240 --checkpoint my_ensemble.evaluation\n"
      "         submix evaluate my_ensemble --corpus text.jsonl --unit user --epsilon 8 --delta "
      "1e-5");
}

}  // namespace submix::apps
