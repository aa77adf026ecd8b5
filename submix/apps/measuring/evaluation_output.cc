#include "submix/apps/measuring/evaluation_output.h"

#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "submix/apps/measuring/account_report.h"
#include "submix/base/file_system.h"

namespace submix::apps {
namespace {

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

nlohmann::json SettingJson(const EvaluationSheet& sheet, std::size_t index) {
  const eval::SettingResult& result = sheet.result.settings[index];
  const mechanism::MechanismOptions& options = result.setting.mechanism;
  nlohmann::json object = {{"mechanism", options.name},
                           {"order", OrderJson(options.order)},
                           {"epsilon", result.setting.epsilon},
                           {"queries", result.setting.queries},
                           {"target_leakage", options.target_leakage},
                           {"max_mixing_weight", options.max_mixing_weight},
                           {"perplexity", result.perplexity.corpus()},
                           {"perplexity_runs", result.perplexity.runs},
                           {"epsilon_spent_max", result.epsilon_spent_max},
                           {"epsilon_spent_mean", result.epsilon_spent_mean}};
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
  // Of a single run there is no interval.
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
  std::printf("%-18s kept %.3f (%.3f to %.3f)\n", "", kept->value, kept->low, kept->high);
}

// Three cells of a CSV line, with the comma before them.
std::string KeptCells(const eval::Baselines& baselines, const eval::PerplexityRuns& perplexity) {
  const auto kept = KeptOf(baselines, perplexity);
  if (!kept) return ",,,";
  char cells[96];
  std::snprintf(cells, sizeof cells, ",%.6f,%.6f,%.6f", kept->value, kept->low, kept->high);
  return cells;
}

std::string SettingCsvLine(const EvaluationSheet& sheet, std::size_t index) {
  const eval::SettingResult& setting = sheet.result.settings[index];
  const mechanism::MechanismOptions& options = setting.setting.mechanism;
  const Promise promise = PromiseOf(sheet, index);
  char line[256];
  std::snprintf(line, sizeof line, "%s,%s,%.9g,%lld,%zu,%.9g,%.9g,%.6f,%.9f", options.name.c_str(),
                promise.order.c_str(), promise.epsilon,
                static_cast<long long>(setting.setting.queries), setting.perplexity.runs.size(),
                options.target_leakage, options.max_mixing_weight, setting.perplexity.corpus(),
                setting.epsilon_spent_max);
  char unit[128];
  std::snprintf(unit, sizeof unit, ",%s,%.9g,%s,%.9g", promise.unit, promise.delta,
                options.order.ToString().c_str(), setting.setting.epsilon);
  return line + KeptCells(sheet.result.BaselinesOf(setting), setting.perplexity) + unit + "\n";
}

}  // namespace

void PrintEvaluationJson(const EvaluationSheet& sheet) {
  nlohmann::json object = {{"unit", "part"},
                           {"baselines", nlohmann::json::array()},
                           {"settings", nlohmann::json::array()}};
  for (const auto& baselines : sheet.result.baselines) {
    object["baselines"].push_back(BaselinesJson(baselines));
  }
  for (std::size_t i = 0; i < sheet.result.settings.size(); ++i) {
    object["settings"].push_back(SettingJson(sheet, i));
  }
  std::printf("%s\n", object.dump().c_str());
}

void PrintEvaluationTable(const EvaluationSheet& sheet) {
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
}

base::Status WriteEvaluationCsv(const std::string& path, const EvaluationSheet& sheet) {
  std::string csv =
      "model,order,epsilon,queries,runs,target_leakage,max_mixing_weight,perplexity,spent_max,kept,"
      "kept_low,kept_high,unit,delta,declared_order,declared_epsilon\n";
  char line[256];
  for (const eval::Baselines& baselines : sheet.result.baselines) {
    ForEachBaseline(baselines, [&](const char* name, const eval::PerplexityRuns& perplexity) {
      std::snprintf(line, sizeof line, "%s,,,%lld,%zu,,,%.6f,", name,
                    static_cast<long long>(baselines.queries), perplexity.runs.size(),
                    perplexity.corpus());
      csv += line + KeptCells(baselines, perplexity) + ",,,,\n";
    });
  }
  for (std::size_t i = 0; i < sheet.result.settings.size(); ++i) csv += SettingCsvLine(sheet, i);
  return base::WriteFile(path, csv);
}

}  // namespace submix::apps
