#include "submix/apps/measuring/evaluation_sheet.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "submix/accounting/promise.h"
#include "submix/apps/report.h"
#include "submix/base/file_system.h"
#include "submix/base/number_text.h"
#include "submix/base/text_table.h"
#include "submix/mechanism/baselines/public_model.h"
#include "submix/mechanism/options_table.h"

namespace submix::apps {
namespace {

using base::Status;
using Json = nlohmann::ordered_json;

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

// What remains of the fine-tuned model's gain; none without such a model, or without a gain.
std::optional<eval::KeptShare> KeptOf(const eval::Baselines& baselines,
                                      const eval::PerplexityRuns& perplexity) {
  if (baselines.fine_tuned.empty()) return std::nullopt;
  const eval::KeptShare kept =
      eval::Kept(baselines.public_model, perplexity, baselines.fine_tuned.front());
  return std::isnan(kept.value) ? std::nullopt : std::optional(kept);
}

accounting::Promise WholePromise(const EvaluationSheet& sheet,
                                 const accounting::PrivacyStatement& statement) {
  return sheet.public_training ? PromiseAbovePublicTraining(statement, *sheet.public_training)
                               : PromiseOf(statement);
}

// "(7.804, 1e-06), from best order 4", or why nothing is promised: what `deploy` would say of this
// setting; none: of the baseline of that name.
std::string PromisedToOneUser(const EvaluationSheet& sheet, const std::string& model,
                              std::optional<std::size_t> setting) {
  if (!setting && model != mechanism::kPublicModelName) return "nothing: no budget pays for it";
  const accounting::Promise promise =
      WholePromise(sheet, setting ? sheet.statements[*setting] : sheet.public_statement);
  const auto user = std::ranges::find(promise.columns, "user");
  if (user == promise.columns.end()) return "nothing";
  return promise.rows.front().cells[static_cast<std::size_t>(user - promise.columns.begin())];
}

// Calls row(name, perplexity) for each baseline.
template <typename Row>
void ForEachBaseline(const eval::Baselines& baselines, const Row& row) {
  row("public", baselines.public_model);
  row("single", baselines.single);
  row("ensemble", baselines.ensemble);
  for (const auto& fine_tuned : baselines.fine_tuned) row("fine-tuned", fine_tuned);
}

Json BaselinesJson(const EvaluationSheet& sheet, const eval::Baselines& baselines) {
  Json object = {{"queries", baselines.tokens}, {"runs", baselines.public_model.runs.size()}};
  ForEachBaseline(baselines, [&](const std::string& name, const eval::PerplexityRuns& perplexity) {
    const std::string field = name == "fine-tuned" ? "fine_tuned" : name;
    object[field + "_perplexity"] = perplexity.corpus();
    object[field + "_accuracy_top1"] = perplexity.accuracy();
    object[field + "_probability"] = perplexity.probability();
    object["promised_to_one_user"][name] = PromisedToOneUser(sheet, name, std::nullopt);
  });
  return object;
}

// Of a row: the options that the mechanism reads, as `text` writes them. Order and mechanism are
// there already.
template <typename Text>
void AddOptions(const mechanism::MechanismOptions& options, Json& row, const Text& text) {
  for (const mechanism::MechanismOption& option : mechanism::MechanismOptionsTable()) {
    if (option.path == "mechanism" || option.path == "order") continue;
    if (option.is_always_written || mechanism::IsReadBy(option, options.name)) {
      row[std::string(option.path)] = text(mechanism::ValueOf(option, options));
    }
  }
}

Json SettingJson(const EvaluationSheet& sheet, std::size_t index) {
  const eval::SettingResult& result = sheet.result.settings[index];
  const mechanism::MechanismOptions& options = result.setting.mechanism;
  Json object = {{"mechanism", options.name},
                 {"order", OrderJson(options.order)},
                 {"epsilon", result.setting.epsilon},
                 {"queries", result.setting.tokens}};
  AddOptions(options, object, [](const mechanism::OptionValue& value) {
    return std::visit([](const auto& plain) { return Json(plain); }, value);
  });
  object.update({{"perplexity", result.perplexity.corpus()},
                 {"perplexity_runs", result.perplexity.runs},
                 {"accuracy_top1", result.perplexity.accuracy()},
                 {"probability", result.perplexity.probability()},
                 {"epsilon_spent_max", result.epsilon_spent_max},
                 {"epsilon_spent_mean", result.epsilon_spent_mean}});
  object["promise"] = accounting::PromiseJson<Json>(WholePromise(sheet, sheet.statements[index]));
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

// The columns of the table stand on numbers of one width; a model's further lines below its name's.
constexpr int kNameWidth = 20;

void PrintBelow(const std::string& text) {
  for (const std::string& line : base::WrappedLines(text, base::kTerminalWidth - kNameWidth - 1)) {
    std::printf("%*s %s\n", kNameWidth, "", line.c_str());
  }
}

void PrintPromise(const EvaluationSheet& sheet, const std::string& model,
                  const eval::PerplexityRuns& perplexity, std::optional<std::size_t> setting) {
  if (sheet.has_labels) {
    PrintBelow("right " + base::FixedText(perplexity.accuracy(), 3) + " by its likeliest label, " +
               base::FixedText(perplexity.probability(), 3) + " by a drawn one");
  }
  PrintBelow("promises one user " + PromisedToOneUser(sheet, model, setting));
}

void PrintSettingRow(const EvaluationSheet& sheet, std::size_t index) {
  const eval::SettingResult& setting = sheet.result.settings[index];
  const mechanism::MechanismOptions& options = setting.setting.mechanism;
  std::printf("%-*s %5s %8.4g %10.3g %7g %11.2f %11.4f\n", kNameWidth, options.name.c_str(),
              options.order.ToString().c_str(), setting.setting.epsilon, options.target_leakage,
              options.max_mixing_weight, setting.perplexity.corpus(), setting.epsilon_spent_max);
  PrintPromise(sheet, options.name, setting.perplexity, index);
  const eval::Baselines& baselines = sheet.result.BaselinesOf(setting);
  if (baselines.fine_tuned.empty()) return;
  const auto kept = KeptOf(baselines, setting.perplexity);
  if (!kept) {
    PrintBelow("kept nothing: fine-tuned is no better than public");
    return;
  }
  PrintBelow("kept " + base::FixedText(kept->value, 3) + " (" + base::FixedText(kept->low, 3) +
             " to " + base::FixedText(kept->high, 3) + " over users)");
}

// Calls row(name, baselines, perplexity, setting) for every baseline, whose setting is none, and
// every setting, whose number it is.
template <typename Row>
void ForEachModel(const EvaluationSheet& sheet, const Row& row) {
  for (const eval::Baselines& baselines : sheet.result.baselines) {
    ForEachBaseline(baselines, [&](const char* name, const eval::PerplexityRuns& perplexity) {
      row(name, baselines, perplexity, std::optional<std::size_t>());
    });
  }
  for (std::size_t i = 0; i < sheet.result.settings.size(); ++i) {
    const eval::SettingResult& result = sheet.result.settings[i];
    row(result.setting.mechanism.name, sheet.result.BaselinesOf(result), result.perplexity,
        std::optional(i));
  }
}

constexpr const char* kPromised = "promised_to_one_user";

// Of the CSV file, followed by a column for every other option of mechanisms. order, epsilon, delta
// and unit are the promise that was asked for; spent_max and target_leakage are nats of a part at
// declared_order, of declared_epsilon. What only settings have stays empty.
constexpr const char* kColumns[] = {
    "model",     "order",          "epsilon",           "queries",
    "runs",      "target_leakage", "max_mixing_weight", "perplexity",
    "spent_max", "kept",           "kept_low",          "kept_high",
    "unit",      "delta",          "declared_order",    "declared_epsilon",
    kPromised,   "accuracy_top1",  "probability"};

std::string CsvNumber(double value) { return base::NumberText(value, 9); }

void AddPromise(const Promise& promise, Json& row) {
  row["order"] = promise.order;
  row["epsilon"] = CsvNumber(promise.epsilon);
  row["unit"] = promise.unit;
  row["delta"] = CsvNumber(promise.delta);
}

Json CsvRow(const std::string& model, const eval::Baselines& baselines,
            const eval::PerplexityRuns& perplexity) {
  Json row;
  for (const char* column : kColumns) row[column] = nullptr;
  for (const mechanism::MechanismOption& option : mechanism::MechanismOptionsTable()) {
    if (option.path != "mechanism") row.emplace(std::string(option.path), nullptr);
  }
  row["model"] = model;
  row["queries"] = baselines.tokens;
  row["runs"] = perplexity.runs.size();
  row["perplexity"] = CsvNumber(perplexity.corpus());
  row["accuracy_top1"] = CsvNumber(perplexity.accuracy());
  row["probability"] = CsvNumber(perplexity.probability());
  if (const auto kept = KeptOf(baselines, perplexity)) {
    row["kept"] = CsvNumber(kept->value);
    row["kept_low"] = CsvNumber(kept->low);
    row["kept_high"] = CsvNumber(kept->high);
  }
  return row;
}

void AddSetting(const EvaluationSheet& sheet, std::size_t index, Json& row) {
  const eval::SettingResult& result = sheet.result.settings[index];
  const mechanism::MechanismOptions& options = result.setting.mechanism;
  AddPromise(PromiseOf(sheet, index), row);
  AddOptions(options, row, [](const mechanism::OptionValue& value) {
    const auto* const number = std::get_if<double>(&value);
    return number ? Json(CsvNumber(*number))
                  : std::visit([](const auto& plain) { return Json(plain); }, value);
  });
  row["spent_max"] = CsvNumber(result.epsilon_spent_max);
  row["declared_order"] = options.order.ToString();
  row["declared_epsilon"] = CsvNumber(result.setting.epsilon);
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

Json CsvRows(const EvaluationSheet& sheet) {
  Json rows = Json::array();
  ForEachModel(sheet,
               [&](const std::string& name, const eval::Baselines& baselines,
                   const eval::PerplexityRuns& perplexity, std::optional<std::size_t> setting) {
                 Json& row = rows.emplace_back(CsvRow(name, baselines, perplexity));
                 row[kPromised] = PromisedToOneUser(sheet, name, setting);
                 if (setting) AddSetting(sheet, *setting, row);
               });
  return rows;
}

}  // namespace

std::string EvaluationRows(const EvaluationSheet& sheet) { return CsvRows(sheet).dump(); }

Status WriteEvaluationCsv(const std::string& path, const EvaluationSheet& sheet) {
  return base::WriteFile(path, TableCsv(CsvRows(sheet)));
}

Status WriteUserLossesCsv(const std::string& path, const EvaluationSheet& sheet,
                          const std::vector<std::string>& users) {
  Json rows = Json::array();
  ForEachModel(
      sheet, [&](const std::string& name, const eval::Baselines& baselines,
                 const eval::PerplexityRuns& perplexity, std::optional<std::size_t> setting) {
        const std::string promised = PromisedToOneUser(sheet, name, setting);
        for (const eval::UserLoss& loss : perplexity.users) {
          Json& row = rows.emplace_back(Json{{"model", name},
                                             {"order", nullptr},
                                             {"epsilon", nullptr},
                                             {"delta", nullptr},
                                             {"unit", nullptr},
                                             {"queries", baselines.tokens},
                                             {"user", users[static_cast<std::size_t>(loss.user)]},
                                             {"positions", loss.positions},
                                             {"nats", CsvNumber(loss.nats)},
                                             {kPromised, promised}});
          if (setting) AddPromise(PromiseOf(sheet, *setting), row);
        }
      });
  return base::WriteFile(path, TableCsv(rows));
}

void PrintEvaluationJson(const EvaluationSheet& sheet) {
  Json object = {{"unit", "part"}, {"baselines", Json::array()}, {"settings", Json::array()}};
  for (const auto& baselines : sheet.result.baselines) {
    object["baselines"].push_back(BaselinesJson(sheet, baselines));
  }
  for (std::size_t i = 0; i < sheet.result.settings.size(); ++i) {
    object["settings"].push_back(SettingJson(sheet, i));
  }
  if (!sheet.scored.empty()) object["scored"] = sheet.scored;
  std::printf("%s\n", object.dump().c_str());
}

void PrintEvaluationTable(const EvaluationSheet& sheet) {
  std::printf("%s", Paragraph("Operator's view, outside the budget: publishing these numbers, or "
                              "choosing options by them, is a release of its own. epsilon in nats "
                              "at its order, per part.")
                        .c_str());
  if (!sheet.scored.empty()) std::printf("scored: %s\n", sheet.scored.c_str());
  for (const eval::Baselines& baselines : sheet.result.baselines) {
    std::printf("\n%zu runs of %lld tokens, each with a fresh budget\n",
                baselines.public_model.runs.size(), static_cast<long long>(baselines.tokens));
    std::printf("%-*s order  epsilon       beta  weight  perplexity  spent most\n", kNameWidth,
                "model");
    ForEachBaseline(baselines, [&](const char* name, const eval::PerplexityRuns& perplexity) {
      std::printf("%-*s %45.2f\n", kNameWidth, name, perplexity.corpus());
      PrintPromise(sheet, name, perplexity, std::nullopt);
    });
    for (std::size_t i = 0; i < sheet.result.settings.size(); ++i) {
      if (sheet.result.settings[i].setting.tokens == baselines.tokens) PrintSettingRow(sheet, i);
    }
  }
  std::string text;
  if (sheet.public_training) {
    text = Paragraph(
               "The public model was trained on users' text. What users are promised counts that "
               "in, if they may be the same (docs/privacy.md, Theorem 15); what follows is said of "
               "the answers alone.") +
           '\n';
  }
  std::printf("\n%s%s", text.c_str(), LabelsText(ColumnsOf(sheet)).c_str());
}

}  // namespace submix::apps
