// `submix evaluate`: held-out perplexity of mechanisms and baselines, one pass over the models.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/apps/mechanism_flags.h"
#include "submix/apps/predictor_flags.h"
#include "submix/apps/program_commands.h"
#include "submix/base/file_system.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/eval/evaluation.h"
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
  std::vector<double> target_leakages;
  std::vector<double> max_mixing_weights = {0.6};
  MechanismFlags mechanism_flags;
  PredictorFlags predictor;
  std::vector<std::int64_t> queries = {1024};
  int runs = 4;
  std::uint64_t seed = 0;
  bool json = false;
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

nlohmann::json BaselinesJson(const eval::Baselines& baselines) {
  nlohmann::json object = {{"queries", baselines.queries},
                           {"runs", baselines.public_model.runs.size()},
                           {"public_perplexity", baselines.public_model.corpus()},
                           {"public_accuracy_top1", baselines.public_model.accuracy()},
                           {"single_perplexity", baselines.single.corpus()},
                           {"ensemble_perplexity", baselines.ensemble.corpus()}};
  if (!baselines.fine_tuned.empty()) {
    object["fine_tuned_perplexity"] = baselines.fine_tuned.front().corpus();
    object["fine_tuned_accuracy_top1"] = baselines.fine_tuned.front().accuracy();
  }
  return object;
}

// What remains of the fine-tuned model's gain; none without such a model, or without a gain.
std::optional<eval::KeptShare> KeptOf(const eval::Baselines& baselines,
                                      const eval::PerplexityRuns& perplexity) {
  if (baselines.fine_tuned.empty()) return std::nullopt;
  const eval::KeptShare kept =
      eval::Kept(baselines.public_model, perplexity, baselines.fine_tuned.front());
  return std::isnan(kept.value) ? std::nullopt : std::optional(kept);
}

nlohmann::json SettingJson(const eval::Baselines& baselines, const eval::SettingResult& result) {
  nlohmann::json order = result.setting.mechanism.order.value();
  if (result.setting.mechanism.order.is_infinite()) order = "inf";
  nlohmann::json object = {{"mechanism", result.setting.mechanism.name},
                           {"order", order},
                           {"epsilon", result.setting.epsilon},
                           {"queries", result.setting.queries},
                           {"target_leakage", result.setting.mechanism.target_leakage},
                           {"max_mixing_weight", result.setting.mechanism.max_mixing_weight},
                           {"perplexity", result.perplexity.corpus()},
                           {"perplexity_runs", result.perplexity.runs},
                           {"epsilon_spent_max", result.epsilon_spent_max},
                           {"epsilon_spent_mean", result.epsilon_spent_mean}};
  const auto kept = KeptOf(baselines, result.perplexity);
  if (!kept) return object;
  object["kept"] = kept->value;
  // Of a single run there is no interval.
  if (std::isfinite(kept->low)) object["kept_interval"] = {kept->low, kept->high};
  return object;
}

void PrintJson(const eval::EvaluationResult& result) {
  nlohmann::json object = {{"unit", "part"},
                           {"baselines", nlohmann::json::array()},
                           {"settings", nlohmann::json::array()}};
  for (const auto& baselines : result.baselines) {
    object["baselines"].push_back(BaselinesJson(baselines));
  }
  for (const auto& setting : result.settings) {
    object["settings"].push_back(SettingJson(result.BaselinesOf(setting), setting));
  }
  std::printf("%s\n", object.dump().c_str());
}

// Calls row(name, perplexity) for each baseline.
template <typename Row>
void ForEachBaseline(const eval::Baselines& baselines, const Row& row) {
  row("public", baselines.public_model);
  row("single", baselines.single);
  row("ensemble", baselines.ensemble);
  for (const auto& fine_tuned : baselines.fine_tuned) row("fine-tuned", fine_tuned);
}

void PrintSettingRow(const eval::Baselines& baselines, const eval::SettingResult& setting) {
  const mechanism::MechanismOptions& options = setting.setting.mechanism;
  std::printf("%-18s %6s %8g %10.3g %8g %11.2f %11.4f\n", options.name.c_str(),
              options.order.ToString().c_str(), setting.setting.epsilon, options.target_leakage,
              options.max_mixing_weight, setting.perplexity.corpus(), setting.epsilon_spent_max);
  if (baselines.fine_tuned.empty()) return;
  const auto kept = KeptOf(baselines, setting.perplexity);
  if (!kept) {
    std::printf("%-18s kept nothing: fine-tuned is no better than public\n", "");
    return;
  }
  std::printf("%-18s kept %.3f (%.3f to %.3f)\n", "", kept->value, kept->low, kept->high);
}

void PrintTable(const eval::EvaluationResult& result) {
  std::printf(
      "Operator's view, outside the budget: publishing these numbers, or choosing options by\n"
      "them, is a release of its own. epsilon in nats at its order, per part.\n");
  for (const eval::Baselines& baselines : result.baselines) {
    std::printf("\n%zu runs of %lld answers, each with a fresh budget\n",
                baselines.public_model.runs.size(), static_cast<long long>(baselines.queries));
    std::printf("%-18s %6s %8s %10s %8s %11s %11s\n", "model", "order", "epsilon", "beta", "weight",
                "perplexity", "spent most");
    ForEachBaseline(baselines, [](const char* name, const eval::PerplexityRuns& perplexity) {
      std::printf("%-18s %6s %8s %10s %8s %11.2f %11s\n", name, "", "", "", "", perplexity.corpus(),
                  "");
    });
    for (const eval::SettingResult& setting : result.settings) {
      if (setting.setting.queries == baselines.queries) PrintSettingRow(baselines, setting);
    }
  }
}

// Three cells of a CSV line, with the comma before them.
std::string KeptCells(const eval::Baselines& baselines, const eval::PerplexityRuns& perplexity) {
  const auto kept = KeptOf(baselines, perplexity);
  if (!kept) return ",,,";
  char cells[96];
  std::snprintf(cells, sizeof cells, ",%.6f,%.6f,%.6f", kept->value, kept->low, kept->high);
  return cells;
}

Status WriteCsv(const std::string& path, const eval::EvaluationResult& result) {
  std::string csv =
      "model,order,epsilon,queries,runs,target_leakage,max_mixing_weight,perplexity,spent_max,"
      "kept,kept_low,kept_high\n";
  char line[256];
  for (const eval::Baselines& baselines : result.baselines) {
    ForEachBaseline(baselines, [&](const char* name, const eval::PerplexityRuns& perplexity) {
      std::snprintf(line, sizeof line, "%s,,,%lld,%zu,,,%.6f,", name,
                    static_cast<long long>(baselines.queries), perplexity.runs.size(),
                    perplexity.corpus());
      csv += line + KeptCells(baselines, perplexity) + "\n";
    });
  }
  for (const eval::SettingResult& setting : result.settings) {
    const mechanism::MechanismOptions& options = setting.setting.mechanism;
    std::snprintf(line, sizeof line, "%s,%s,%.9g,%lld,%zu,%.9g,%.9g,%.6f,%.9f",
                  options.name.c_str(), options.order.ToString().c_str(), setting.setting.epsilon,
                  static_cast<long long>(setting.setting.queries), setting.perplexity.runs.size(),
                  options.target_leakage, options.max_mixing_weight, setting.perplexity.corpus(),
                  setting.epsilon_spent_max);
    csv += line + KeptCells(result.BaselinesOf(setting), setting.perplexity) + "\n";
  }
  return base::PosixFileSystem().WriteFile(path, csv);
}

Status RunEvaluate(const EvaluateOptions& options) {
  if (options.corpus.empty() == options.heldout.empty()) {
    return base::InvalidArgumentError(
        "give either --corpus (its held-out users are scored) or --heldout (all of it is)");
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto manifest, ensemble::LoadManifest(options.ensemble));
  std::vector<std::string> extra;
  if (!options.fine_tuned.empty()) extra.push_back(options.fine_tuned);
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer,
                          tokenizer::Tokenizer::Load(ensemble::PublicDirectory(options.ensemble)));
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor,
                          LoadEnsembles(options.predictor, options.ensemble, extra));
  SUBMIX_ASSIGN_OR_RETURN(const auto blocks,
                          LoadHeldout(options, manifest, *tokenizer, predictor->context_length()));
  eval::EvaluationPlan plan;
  SUBMIX_ASSIGN_OR_RETURN(plan.settings, Settings(options));
  plan.runs = options.runs;
  plan.seed = options.seed;
  plan.num_parts = manifest.num_parts;
  plan.halves = manifest.halves;
  plan.num_fine_tuned = predictor->num_members() - manifest.num_parts * manifest.halves;
  SUBMIX_ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint(options));
  base::ProgressBar progress("Scoring", eval::NumPositions(plan), "answers");
  SUBMIX_ASSIGN_OR_RETURN(const auto result,
                          eval::Evaluate(*predictor, blocks, plan, progress, checkpoint));
  progress.Finish();
  if (!options.csv.empty()) SUBMIX_RETURN_IF_ERROR(WriteCsv(options.csv, result));
  if (options.json) {
    PrintJson(result);
  } else {
    PrintTable(result);
  }
  return base::OkStatus();
}

}  // namespace

void AddEvaluateCommand(CLI::App& command, Action& action) {
  auto options = std::make_shared<EvaluateOptions>();
  command.add_option("ensemble", options->ensemble, "Directory made by `submix train`")
      ->required()
      ->check(CLI::ExistingDirectory);
  command.add_option("--corpus", options->corpus,
                     "The training corpus: its held-out users are scored");
  command.add_option("--heldout", options->heldout,
                     "Or other text: .jsonl[.xz] (every user) or plain text");
  command.add_option("--fine-tuned", options->fine_tuned,
                     "An ensemble of one part, trained on all private text: the baseline");
  command
      .add_option("--mechanism", options->mechanisms, "One or more: " + mechanism::MechanismNames())
      ->delimiter(',');
  command.add_option("--epsilon", options->epsilons, "One or more budgets, nats")->delimiter(',');
  command.add_option("--order", options->orders, "One or more Renyi orders")->delimiter(',');
  command
      .add_option("--target-leakage", options->target_leakages,
                  "One or more caps on a charge, nats; default epsilon / queries")
      ->delimiter(',');
  command
      .add_option("--max-mixing-weight", options->max_mixing_weights, "One or more largest weights")
      ->delimiter(',');
  AddMechanismFlags(command, options->mechanism_flags);
  AddPredictorFlags(command, options->predictor);
  command
      .add_option("--queries", options->queries,
                  "One or more numbers of answers under one budget (the papers' B)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1'000'000'000));
  command
      .add_option("--runs", options->runs,
                  "Disjoint stretches of the most --queries, each with a fresh budget; fewer "
                  "queries are more runs on the same text")
      ->check(CLI::PositiveNumber);
  command.add_option("--seed", options->seed,
                     "Of what the mechanisms draw: the same command gives the same numbers");
  command.add_option("--checkpoint", options->checkpoint,
                     "Keep finished runs in this file; the same command goes on after them");
  command.add_option("--csv", options->csv, "Also write a CSV file");
  command.add_flag("--json", options->json, "One JSON object");
  command.footer(
      "All combinations are scored in one pass over the models.\n"
      "Interrupted? With --checkpoint the same command goes on after the last finished run and\n"
      "gives the numbers of an uninterrupted one; with other models, text or options it refuses.\n"
      "Example: submix evaluate my_ensemble --corpus text.jsonl --epsilon 1,2,4 --order 2,8 \\\n"
      "             --queries 1024,10240 --checkpoint my_ensemble.evaluation");
  command.callback([options, &action] { action = [options] { return RunEvaluate(*options); }; });
}

}  // namespace submix::apps
