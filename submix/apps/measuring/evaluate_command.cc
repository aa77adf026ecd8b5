// `submix evaluate`: held-out perplexity of mechanisms and baselines, one pass over the models.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/accounting/promise.h"
#include "submix/apps/measuring/account_report.h"
#include "submix/apps/measuring/corpus_flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/mechanism_flags.h"
#include "submix/apps/serving/predictor_flags.h"
#include "submix/base/number_text.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/eval/measuring/evaluation.h"
#include "submix/mechanism/baselines/recommended_options.h"
#include "submix/mechanism/baselines/user_budget.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

struct EvaluateOptions {
  std::string ensemble;
  corpus::CorpusFile corpus;
  std::string heldout;
  std::string fine_tuned;
  std::string csv;
  std::string by_user;
  std::string checkpoint;
  std::vector<std::string> mechanisms = {"filtered-submix"};
  std::vector<std::string> orders;  // empty: nobody said
  std::vector<double> epsilons = {2};
  std::vector<std::string> units = {"part"};
  double delta = accounting::kDefaultDelta;
  std::vector<double> target_leakages;
  std::vector<double> max_mixing_weights;  // empty: as recommended
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
StatusOr<std::vector<eval::EvaluationSetting>> Settings(const EvaluateOptions& options,
                                                        int num_parts) {
  using Setting = eval::EvaluationSetting;
  std::vector<divergence::RenyiOrder> orders;
  for (const std::string& text : options.orders) {
    SUBMIX_ASSIGN_OR_RETURN(const auto order, divergence::RenyiOrder::Parse(text));
    orders.push_back(order);
  }
  if (orders.empty()) orders.push_back(mechanism::RecommendedOrder());
  std::vector<double> leakages = options.target_leakages;
  if (leakages.empty()) leakages.push_back(0);
  std::vector<Setting> settings(1);
  settings[0].mechanism.num_parts = num_parts;
  Multiply(settings, options.queries, [](Setting& s, std::int64_t value) { s.queries = value; });
  Multiply(settings, options.mechanisms,
           [](Setting& s, const std::string& value) { s.mechanism.name = value; });
  for (Setting& setting : settings) {
    mechanism::Recommend(num_parts, setting.queries, setting.mechanism);
    SUBMIX_RETURN_IF_ERROR(options.mechanism_flags.Apply(setting.mechanism));
  }
  Multiply(settings, orders, [](Setting& s, auto value) { s.mechanism.order = value; });
  Multiply(settings, options.epsilons, [](Setting& s, double value) { s.epsilon = value; });
  Multiply(settings, leakages,
           [](Setting& s, double value) { s.mechanism.target_leakage = value; });
  if (!options.max_mixing_weights.empty()) {
    Multiply(settings, options.max_mixing_weights,
             [](Setting& s, double value) { s.mechanism.max_mixing_weight = value; });
  }
  return settings;
}

// Every setting for every unit: a part's as it is, a user's with the budget that keeps it. Also
// what each promises to a user; none: to a part.
Status AddForUnits(const EvaluateOptions& options, bool public_keys, eval::EvaluationPlan& plan,
                   std::vector<std::optional<mechanism::UserPromise>>& promises) {
  SUBMIX_ASSIGN_OR_RETURN(const auto settings, Settings(options, plan.num_parts));
  const double delta = options.orders.empty() ? options.delta : 0;
  for (const std::string& unit : options.units) {
    for (eval::EvaluationSetting setting : settings) {
      auto& promise = promises.emplace_back();
      if (unit == "user") {
        promise = {setting.epsilon, setting.mechanism.order, delta, public_keys};
        SUBMIX_ASSIGN_OR_RETURN(const auto kept,
                                mechanism::KeepUserPromise(setting.mechanism, setting.queries,
                                                           *promise, mechanism::MakeAnyMechanism));
        setting.mechanism = kept.mechanism;
        setting.epsilon = kept.epsilon;
      }
      plan.settings.push_back(std::move(setting));
    }
  }
  return base::OkStatus();
}

Status CheckUnits(const EvaluateOptions& options) {
  const auto has = [&](const char* unit) {
    return std::count(options.units.begin(), options.units.end(), unit) > 0;
  };
  if (!options.target_leakages.empty() && has("user")) {
    return base::InvalidArgumentError(
        "--target-leakage: follows from the promise where --unit is user; leave it out");
  }
  return base::OkStatus();
}

StatusOr<eval::HeldoutText> LoadHeldout(const EvaluateOptions& options,
                                        const ensemble::Manifest& manifest,
                                        const tokenizer::Tokenizer& tokenizer, int context_length) {
  if (!options.heldout.empty()) {
    corpus::CorpusFile heldout = options.corpus;
    heldout.path = options.heldout;
    return eval::HeldoutFromFile(heldout, tokenizer, context_length);
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

// --- What was found

// What was scored, with what each setting promises to a user; none: to a part.
struct EvaluationSheet {
  eval::EvaluationResult result;
  std::vector<std::optional<mechanism::UserPromise>> promises;
  std::vector<accounting::PrivacyStatement> statements;  // of each setting's budget
};

// A setting's budget as the promise that was asked for.
struct Promise {
  const char* unit;
  std::string order;  // empty with a delta
  double epsilon;
  double delta;
};

Promise PromiseOf(const EvaluationSheet& sheet, std::size_t setting) {
  if (const auto& user = sheet.promises[setting]) {
    return {"user", user->delta > 0 ? "" : user->order.ToString(), user->epsilon, user->delta};
  }
  const eval::EvaluationSetting& asked = sheet.result.settings[setting].setting;
  return {"part", asked.mechanism.order.ToString(), asked.epsilon, 0};
}

Json BaselinesJson(const eval::Baselines& baselines) {
  Json object = {{"queries", baselines.queries},
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

Json SettingJson(const EvaluationSheet& sheet, std::size_t index) {
  const eval::SettingResult& result = sheet.result.settings[index];
  const mechanism::MechanismOptions& options = result.setting.mechanism;
  Json object = {{"mechanism", options.name},
                 {"order", OrderJson(options.order)},
                 {"epsilon", result.setting.epsilon},
                 {"queries", result.setting.queries},
                 {"target_leakage", options.target_leakage},
                 {"max_mixing_weight", options.max_mixing_weight},
                 {"perplexity", result.perplexity.corpus()},
                 {"perplexity_runs", result.perplexity.runs},
                 {"epsilon_spent_max", result.epsilon_spent_max},
                 {"epsilon_spent_mean", result.epsilon_spent_mean}};
  object["promise"] = accounting::PromiseJson<Json>(PromiseOf(sheet.statements[index]));
  if (const auto& user = sheet.promises[index]) {
    object["user"] = {{"epsilon", user->epsilon}};
    if (user->delta > 0) {
      object["user"]["delta"] = user->delta;
    } else {
      object["user"]["order"] = OrderJson(user->order);
    }
  }
  const auto kept = KeptOf(sheet.result.BaselinesOf(result), result.perplexity);
  if (!kept) return object;
  object["kept"] = kept->value;
  // Of a single user there is no interval.
  if (std::isfinite(kept->low)) object["kept_interval"] = {kept->low, kept->high};
  return object;
}

// Calls row(name, perplexity) for each baseline.
template <typename Row>
void ForEachBaseline(const eval::Baselines& baselines, const Row& row) {
  row("public", baselines.public_model);
  row("single", baselines.single);
  row("ensemble", baselines.ensemble);
  for (const auto& fine_tuned : baselines.fine_tuned) row("fine-tuned", fine_tuned);
}

void PrintSettingRow(const EvaluationSheet& sheet, std::size_t index) {
  const eval::SettingResult& setting = sheet.result.settings[index];
  const mechanism::MechanismOptions& options = setting.setting.mechanism;
  std::printf("%-18s %6s %8.4g %10.3g %8g %11.2f %11.4f\n", options.name.c_str(),
              options.order.ToString().c_str(), setting.setting.epsilon, options.target_leakage,
              options.max_mixing_weight, setting.perplexity.corpus(), setting.epsilon_spent_max);
  const Promise promise = PromiseOf(sheet, index);
  if (promise.delta > 0) {
    std::printf("%-18s promises a user (%g, %g)-DP\n", "", promise.epsilon, promise.delta);
  } else if (sheet.promises[index].has_value()) {
    std::printf("%-18s promises a user %g at order %s\n", "", promise.epsilon,
                promise.order.c_str());
  }
  const eval::Baselines& baselines = sheet.result.BaselinesOf(setting);
  if (baselines.fine_tuned.empty()) return;
  const auto kept = KeptOf(baselines, setting.perplexity);
  if (!kept) {
    std::printf("%-18s kept nothing: fine-tuned is no better than public\n", "");
    return;
  }
  std::printf("%-18s kept %.3f (%.3f to %.3f over users)\n", "", kept->value, kept->low,
              kept->high);
}

// Of the CSV file. order, epsilon, delta and unit are the promise; spent_max and target_leakage are
// nats of a part at declared_order, of declared_epsilon. What only settings have stays empty.
constexpr const char* kColumns[] = {
    "model",     "order",          "epsilon",           "queries",
    "runs",      "target_leakage", "max_mixing_weight", "perplexity",
    "spent_max", "kept",           "kept_low",          "kept_high",
    "unit",      "delta",          "declared_order",    "declared_epsilon"};

std::string CsvNumber(double value) { return base::NumberText(value, 9); }

Json CsvRow(const std::string& model, const eval::Baselines& baselines,
            const eval::PerplexityRuns& perplexity) {
  Json row;
  for (const char* column : kColumns) row[column] = nullptr;
  row["model"] = model;
  row["queries"] = baselines.queries;
  row["runs"] = perplexity.runs.size();
  row["perplexity"] = CsvNumber(perplexity.corpus());
  if (const auto kept = KeptOf(baselines, perplexity)) {
    row["kept"] = CsvNumber(kept->value);
    row["kept_low"] = CsvNumber(kept->low);
    row["kept_high"] = CsvNumber(kept->high);
  }
  return row;
}

Json SettingCsvRow(const EvaluationSheet& sheet, std::size_t index) {
  const eval::SettingResult& result = sheet.result.settings[index];
  const mechanism::MechanismOptions& options = result.setting.mechanism;
  const Promise promise = PromiseOf(sheet, index);
  Json row = CsvRow(options.name, sheet.result.BaselinesOf(result), result.perplexity);
  row["order"] = promise.order;
  row["epsilon"] = CsvNumber(promise.epsilon);
  row["target_leakage"] = CsvNumber(options.target_leakage);
  row["max_mixing_weight"] = CsvNumber(options.max_mixing_weight);
  row["spent_max"] = CsvNumber(result.epsilon_spent_max);
  row["unit"] = promise.unit;
  row["delta"] = CsvNumber(promise.delta);
  row["declared_order"] = options.order.ToString();
  row["declared_epsilon"] = CsvNumber(result.setting.epsilon);
  return row;
}

Status WriteCsv(const std::string& path, const EvaluationSheet& sheet) {
  AccountReport report;
  for (const eval::Baselines& baselines : sheet.result.baselines) {
    ForEachBaseline(baselines, [&](const char* name, const eval::PerplexityRuns& perplexity) {
      report.rows.push_back(CsvRow(name, baselines, perplexity));
    });
  }
  for (std::size_t i = 0; i < sheet.result.settings.size(); ++i) {
    report.rows.push_back(SettingCsvRow(sheet, i));
  }
  return WriteReportCsv(report, path);
}

// One row for every model or setting and user, as in kColumns where they have the same names.
Status WriteUsersCsv(const std::string& path, const EvaluationSheet& sheet,
                     const std::vector<std::string>& users) {
  AccountReport report;
  const auto add = [&](const Json& of, const eval::PerplexityRuns& perplexity) {
    for (const eval::UserLoss& loss : perplexity.users) {
      Json& row = report.rows.emplace_back();
      for (const char* column : {"model", "order", "epsilon", "delta", "unit", "queries"}) {
        row[column] = of[column];
      }
      row["user"] = users[static_cast<std::size_t>(loss.user)];
      row["positions"] = loss.positions;
      row["nats"] = CsvNumber(loss.nats);
    }
  };
  for (const eval::Baselines& baselines : sheet.result.baselines) {
    ForEachBaseline(baselines, [&](const char* name, const eval::PerplexityRuns& perplexity) {
      add(CsvRow(name, baselines, perplexity), perplexity);
    });
  }
  for (std::size_t i = 0; i < sheet.result.settings.size(); ++i) {
    add(SettingCsvRow(sheet, i), sheet.result.settings[i].perplexity);
  }
  return WriteReportCsv(report, path);
}

void PrintJson(const EvaluationSheet& sheet) {
  Json object = {{"unit", "part"}, {"baselines", Json::array()}, {"settings", Json::array()}};
  for (const auto& baselines : sheet.result.baselines) {
    object["baselines"].push_back(BaselinesJson(baselines));
  }
  for (std::size_t i = 0; i < sheet.result.settings.size(); ++i) {
    object["settings"].push_back(SettingJson(sheet, i));
  }
  std::printf("%s\n", object.dump().c_str());
}

// Of every mechanism once, for parts and, where users were promised something, for them.
LabelledColumns ColumnsOf(const EvaluationSheet& sheet) {
  LabelledColumns columns;
  const auto add = [&](const std::string& name, const accounting::PrivacyStatement& statement) {
    const auto same = [&](const auto& column) { return column.first == name; };
    if (std::ranges::none_of(columns, same)) columns.emplace_back(name, statement);
  };
  for (std::size_t i = 0; i < sheet.statements.size(); ++i) {
    const accounting::PrivacyStatement& statement = sheet.statements[i];
    add(statement.mechanism, statement);
    if (!sheet.promises[i].has_value()) continue;
    if (const auto user = UserLevelStatement(statement)) {
      add(statement.mechanism + ", for users", *user);
    }
  }
  return columns;
}

void PrintTable(const EvaluationSheet& sheet) {
  std::printf(
      "Operator's view, outside the budget: publishing these numbers, or choosing options by\n"
      "them, is a release of its own. epsilon in nats at its order, per part.\n");
  for (const eval::Baselines& baselines : sheet.result.baselines) {
    std::printf("\n%zu runs of %lld answers, each with a fresh budget\n",
                baselines.public_model.runs.size(), static_cast<long long>(baselines.queries));
    std::printf("%-18s %6s %8s %10s %8s %11s %11s\n", "model", "order", "epsilon", "beta", "weight",
                "perplexity", "spent most");
    ForEachBaseline(baselines, [](const char* name, const eval::PerplexityRuns& perplexity) {
      std::printf("%-18s %6s %8s %10s %8s %11.2f %11s\n", name, "", "", "", "", perplexity.corpus(),
                  "");
    });
    for (std::size_t i = 0; i < sheet.result.settings.size(); ++i) {
      if (sheet.result.settings[i].setting.queries == baselines.queries) PrintSettingRow(sheet, i);
    }
  }
  std::printf("\n");
  PrintLabels(ColumnsOf(sheet));
}

// --- The command

// What the budgets of what was scored mean.
StatusOr<std::vector<accounting::PrivacyStatement>> StatementsOf(
    const eval::EvaluationResult& scored, double delta, bool public_keys) {
  std::vector<accounting::PrivacyStatement> statements;
  for (const eval::SettingResult& result : scored.settings) {
    SUBMIX_ASSIGN_OR_RETURN(const auto mechanism,
                            mechanism::MakeAnyMechanism(result.setting.mechanism));
    statements.push_back(
        mechanism->Statement(accounting::FixedNats::RoundDown(result.setting.epsilon)));
    statements.back().delta = delta;
    statements.back().public_keys = public_keys;
  }
  return statements;
}

Status RunEvaluate(const EvaluateOptions& options) {
  if (options.corpus.path.empty() == options.heldout.empty()) {
    return base::InvalidArgumentError(
        "give either --corpus (its held-out users are scored) or --heldout (all of it is)");
  }
  SUBMIX_RETURN_IF_ERROR(CheckUnits(options));
  SUBMIX_ASSIGN_OR_RETURN(const auto manifest, ensemble::LoadManifest(options.ensemble));
  eval::EvaluationPlan plan;
  plan.runs = options.runs;
  plan.seed = options.seed;
  plan.num_parts = manifest.num_parts;
  plan.halves = manifest.halves;
  EvaluationSheet sheet;
  SUBMIX_RETURN_IF_ERROR(AddForUnits(options, manifest.has_public_keys(), plan, sheet.promises));
  std::vector<std::string> extra;
  if (!options.fine_tuned.empty()) extra.push_back(options.fine_tuned);
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer, LoadEnsembleTokenizer(options.ensemble));
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor,
                          LoadEnsembles(options.predictor, *tokenizer, options.ensemble, extra));
  SUBMIX_ASSIGN_OR_RETURN(auto text,
                          LoadHeldout(options, manifest, *tokenizer, predictor->context_length()));
  plan.num_fine_tuned = predictor->num_members() - manifest.num_parts * manifest.halves;
  SUBMIX_ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint(options));
  base::ProgressBar progress("Scoring", eval::NumPositions(plan), "answers");
  SUBMIX_ASSIGN_OR_RETURN(sheet.result,
                          eval::Evaluate(*predictor, text, plan, progress, checkpoint));
  progress.Finish();
  SUBMIX_ASSIGN_OR_RETURN(sheet.statements,
                          StatementsOf(sheet.result, options.delta, manifest.has_public_keys()));
  if (!options.csv.empty()) SUBMIX_RETURN_IF_ERROR(WriteCsv(options.csv, sheet));
  if (!options.by_user.empty()) {
    text.users.erase(std::unique(text.users.begin(), text.users.end()), text.users.end());
    SUBMIX_RETURN_IF_ERROR(WriteUsersCsv(options.by_user, sheet, text.users));
  }
  if (options.json) {
    PrintJson(sheet);
  } else {
    PrintTable(sheet);
  }
  return base::OkStatus();
}

}  // namespace

void AddEvaluateCommand(CLI::App& command, Action& action) {
  EvaluateOptions& options = SetAction<EvaluateOptions>(command, action, RunEvaluate);
  Flags flags(command);
  flags.Require("ensemble", options.ensemble, kDirectory,
                "Directory made by `submix train` or `submix contexts`");
  flags.Add("--corpus", options.corpus.path, "The training corpus: its held-out users are scored");
  flags.Add("--heldout", options.heldout, "Or other text: .jsonl or .csv (every user), or plain");
  AddColumnFlags(flags, options.corpus);
  flags.Add("--fine-tuned", options.fine_tuned,
            "An ensemble of one part, trained on all private text: the baseline");
  flags.Add("--mechanism", options.mechanisms, "One or more: " + mechanism::AnyMechanismNames());
  flags.Add("--epsilon", options.epsilons, "One or more budgets, nats");
  flags.Add("--order", options.orders, "One or more Renyi orders; default: 8");
  AddPromiseFlags(flags, options.units, options.delta);
  flags.Add("--target-leakage", options.target_leakages,
            "One or more caps on a charge, nats; default epsilon / queries");
  flags.Add("--max-mixing-weight", options.max_mixing_weights,
            "One or more largest weights; default: by parts and --queries");
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
  flags.Add(
      "--by-user", options.by_user,
      "Also write a CSV file of what each held-out user's text lost, in nats: names the users");
  flags.Add("--json", options.json, "One JSON object");
  command.footer(
      "All combinations are scored in one pass over the models.\n"
      "Interrupted? With --checkpoint the same command goes on after the last finished run and\n"
      "gives the numbers of an uninterrupted one; with other models, text or options it refuses.\n"
      "Example: submix evaluate my_ensemble --corpus text.jsonl --epsilon 1,2,4 --order 2,8 \\\n"
      "             --queries 1024,10240 --checkpoint my_ensemble.evaluation\n"
      "         submix evaluate my_ensemble --corpus text.jsonl --unit user --epsilon 8");
}

}  // namespace submix::apps
