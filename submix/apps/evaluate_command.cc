// `submix evaluate`: held-out perplexity of mechanisms and baselines, one pass over the models.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/apps/deployed_engine.h"
#include "submix/apps/mechanism_flags.h"
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
  std::vector<std::string> mechanisms = {"filtered-submix"};
  std::vector<std::string> orders = {"2"};
  std::vector<double> epsilons = {2};
  std::vector<double> target_leakages;
  std::vector<double> max_mixing_weights = {0.6};
  MechanismFlags mechanism_flags;
  std::int64_t queries = 1024;
  int runs = 4;
  bool json = false;
};

// Every combination of the lists is one setting.
StatusOr<std::vector<eval::EvaluationSetting>> Settings(const EvaluateOptions& options) {
  std::vector<double> leakages = options.target_leakages;
  if (leakages.empty()) leakages.push_back(0);
  mechanism::MechanismOptions base_options;
  SUBMIX_RETURN_IF_ERROR(options.mechanism_flags.Apply(base_options));
  std::vector<eval::EvaluationSetting> settings;
  for (const std::string& mechanism : options.mechanisms) {
    for (const std::string& order_text : options.orders) {
      SUBMIX_ASSIGN_OR_RETURN(const auto order, divergence::RenyiOrder::Parse(order_text));
      for (const double epsilon : options.epsilons) {
        for (const double leakage : leakages) {
          for (const double weight : options.max_mixing_weights) {
            eval::EvaluationSetting& setting = settings.emplace_back();
            setting.mechanism = base_options;
            setting.mechanism.name = mechanism;
            setting.mechanism.order = order;
            setting.mechanism.target_leakage =
                leakage > 0 ? leakage : epsilon / static_cast<double>(options.queries);
            setting.mechanism.max_mixing_weight = weight;
            setting.epsilon = epsilon;
          }
        }
      }
    }
  }
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

// The members of another ensemble, trained on all private text: the non-private baseline.
StatusOr<std::vector<std::string>> FineTunedMembers(const std::string& directory) {
  std::vector<std::string> members;
  if (directory.empty()) return members;
  SUBMIX_ASSIGN_OR_RETURN(const auto manifest, ensemble::LoadManifest(directory));
  for (const auto& member : manifest.members) {
    members.push_back(ensemble::MemberPath(directory, member));
  }
  return members;
}

nlohmann::json SettingJson(const eval::SettingResult& result) {
  nlohmann::json order = result.setting.mechanism.order.value();
  if (result.setting.mechanism.order.is_infinite()) order = "inf";
  return {{"mechanism", result.setting.mechanism.name},
          {"order", order},
          {"epsilon", result.setting.epsilon},
          {"target_leakage", result.setting.mechanism.target_leakage},
          {"max_mixing_weight", result.setting.mechanism.max_mixing_weight},
          {"perplexity", result.perplexity.mean()},
          {"perplexity_runs", result.perplexity.runs},
          {"epsilon_spent_max", result.epsilon_spent_max},
          {"epsilon_spent_mean", result.epsilon_spent_mean}};
}

void PrintJson(const EvaluateOptions& options, const eval::EvaluationResult& result) {
  nlohmann::json object = {{"queries", options.queries},
                           {"runs", options.runs},
                           {"public_perplexity", result.public_model.mean()},
                           {"single_perplexity", result.single.mean()},
                           {"ensemble_perplexity", result.ensemble.mean()},
                           {"unit", "part"},
                           {"settings", nlohmann::json::array()}};
  if (!result.fine_tuned.empty()) {
    object["fine_tuned_perplexity"] = result.fine_tuned.front().mean();
  }
  for (const auto& setting : result.settings) object["settings"].push_back(SettingJson(setting));
  std::printf("%s\n", object.dump().c_str());
}

void PrintTable(const EvaluateOptions& options, const eval::EvaluationResult& result) {
  std::printf(
      "Operator's view, outside the budget: publishing these numbers, or choosing options by\n"
      "them, is a release of its own.\n\n");
  std::printf("%-18s %6s %8s %10s %8s %11s %11s\n", "model", "order", "epsilon", "beta", "weight",
              "perplexity", "spent most");
  const auto baseline = [](const char* name, double perplexity) {
    std::printf("%-18s %6s %8s %10s %8s %11.2f %11s\n", name, "", "", "", "", perplexity, "");
  };
  baseline("public", result.public_model.mean());
  baseline("single", result.single.mean());
  baseline("ensemble", result.ensemble.mean());
  for (const auto& fine_tuned : result.fine_tuned) baseline("fine-tuned", fine_tuned.mean());
  for (const eval::SettingResult& setting : result.settings) {
    std::printf("%-18s %6s %8g %10.3g %8g %11.2f %11.4f\n", setting.setting.mechanism.name.c_str(),
                setting.setting.mechanism.order.ToString().c_str(), setting.setting.epsilon,
                setting.setting.mechanism.target_leakage,
                setting.setting.mechanism.max_mixing_weight, setting.perplexity.mean(),
                setting.epsilon_spent_max);
    if (!result.fine_tuned.empty()) {
      const eval::KeptShare kept =
          eval::Kept(result.public_model, setting.perplexity, result.fine_tuned.front());
      std::printf("%-18s kept %.3f (%.3f to %.3f)\n", "", kept.value, kept.low, kept.high);
    }
  }
  std::printf(
      "\nepsilon in nats at its order, per part; %d runs of %lld answers, each with a fresh "
      "budget\n",
      options.runs, static_cast<long long>(options.queries));
}

Status WriteCsv(const std::string& path, const eval::EvaluationResult& result) {
  std::string csv = "model,order,epsilon,target_leakage,max_mixing_weight,perplexity,spent_max\n";
  const auto baseline = [&](const char* name, double perplexity) {
    csv += std::string(name) + ",,,,," + std::to_string(perplexity) + ",\n";
  };
  baseline("public", result.public_model.mean());
  baseline("single", result.single.mean());
  baseline("ensemble", result.ensemble.mean());
  for (const auto& fine_tuned : result.fine_tuned) baseline("fine-tuned", fine_tuned.mean());
  for (const eval::SettingResult& setting : result.settings) {
    char line[256];
    std::snprintf(line, sizeof line, "%s,%s,%.9g,%.9g,%.9g,%.6f,%.9f\n",
                  setting.setting.mechanism.name.c_str(),
                  setting.setting.mechanism.order.ToString().c_str(), setting.setting.epsilon,
                  setting.setting.mechanism.target_leakage,
                  setting.setting.mechanism.max_mixing_weight, setting.perplexity.mean(),
                  setting.epsilon_spent_max);
    csv += line;
  }
  return base::PosixFileSystem().WriteFile(path, csv);
}

Status RunEvaluate(const EvaluateOptions& options) {
  if (options.corpus.empty() == options.heldout.empty()) {
    return base::InvalidArgumentError(
        "give either --corpus (its held-out users are scored) or --heldout (all of it is)");
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto manifest, ensemble::LoadManifest(options.ensemble));
  SUBMIX_ASSIGN_OR_RETURN(const auto extra, FineTunedMembers(options.fine_tuned));
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer,
                          tokenizer::Tokenizer::Load(ensemble::PublicDirectory(options.ensemble)));
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor, LoadEnsemblePredictor(options.ensemble, extra));
  SUBMIX_ASSIGN_OR_RETURN(const auto blocks,
                          LoadHeldout(options, manifest, *tokenizer, predictor->context_length()));
  eval::EvaluationPlan plan;
  SUBMIX_ASSIGN_OR_RETURN(plan.settings, Settings(options));
  plan.queries = options.queries;
  plan.runs = options.runs;
  plan.num_parts = manifest.num_parts;
  plan.halves = manifest.halves;
  plan.num_fine_tuned = static_cast<int>(extra.size());
  base::ProgressBar progress("Scoring", plan.queries * plan.runs, "answers");
  SUBMIX_ASSIGN_OR_RETURN(const auto result, eval::Evaluate(*predictor, blocks, plan, progress));
  progress.Finish();
  if (!options.csv.empty()) SUBMIX_RETURN_IF_ERROR(WriteCsv(options.csv, result));
  if (options.json) {
    PrintJson(options, result);
  } else {
    PrintTable(options, result);
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
  command.add_option("--queries", options->queries, "Answers under one budget (the papers' B)")
      ->check(CLI::PositiveNumber);
  command.add_option("--runs", options->runs, "Disjoint stretches, each with a fresh budget")
      ->check(CLI::PositiveNumber);
  command.add_option("--csv", options->csv, "Also write a CSV file");
  command.add_flag("--json", options->json, "One JSON object");
  command.footer(
      "All combinations are scored in one pass over the models.\n"
      "Example: submix evaluate my_ensemble --corpus text.jsonl --epsilon 1,2,4 --order 2,8");
  command.callback([options, &action] { action = [options] { return RunEvaluate(*options); }; });
}

}  // namespace submix::apps
