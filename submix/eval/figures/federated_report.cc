#include "submix/eval/figures/federated_report.h"

#include <cmath>
#include <cstdio>

#include "submix/base/number_text.h"
#include "submix/eval/pages/html_page.h"

namespace submix::eval {
namespace {

using Json = nlohmann::ordered_json;

const char* Name(UpdateAverage average) {
  switch (average) {
    case UpdateAverage::kTrue:
      return "true";
    case UpdateAverage::kClippedDivisor:
      return "clipped divisor";
    case UpdateAverage::kFixedDivisor:
      return "fixed divisor";
  }
  return "";
}

Json SettingJson(const FederatedSetting& setting) {
  Json json = {{"algorithm", setting.is_fedsgd ? "fedsgd" : "fedavg"},
               {"words", setting.words},
               {"rounds", setting.rounds},
               {"users_per_round", setting.expected_users},
               {"fixed_size_sample", setting.fixed_size_sample},
               {"average", Name(setting.average)},
               {"clip_norm", JsonNumber(setting.clip_norm)},
               {"per_layer", setting.per_layer},
               {"noise_deviation", JsonNumber(NoiseDeviation(setting))},
               {"noise_multiplier", setting.noise_multiplier},
               {"simulated_users_per_round", setting.simulated_users}};
  if (setting.earlier_clip_norm > 0) {
    json["goes_on_from"] = {{"clip_norm", setting.earlier_clip_norm},
                            {"rounds", setting.earlier_rounds}};
  }
  return json;
}

Json RunJson(const FederatedSetting& setting, const FederatedRun& run) {
  Json json = {{"setting", SettingJson(setting)}};
  for (const auto& [name, value] : run.options) json["options"][name] = value;
  json["promise"] = PromiseOf(setting, run);
  json["epsilon"] = run.promise.has_value() ? JsonNumber(run.promise->epsilon) : Json();
  if (run.promise.has_value()) {
    json["delta"] = run.promise->delta;
    json["statement"] = run.promise->stated.ToText();
  }
  json["evaluations"] = Json::array();
  for (const FederatedEvaluation& evaluation : run.evaluations) {
    json["evaluations"].push_back(
        {{"round", evaluation.round},
         {"accuracy_top1", JsonNumber(evaluation.accuracy_top1)},
         {"accuracy_top1_smoothed", JsonNumber(evaluation.smoothed_accuracy_top1)},
         {"perplexity", JsonNumber(evaluation.perplexity)}});
  }
  return json;
}

std::string Digits(double value) { return std::isfinite(value) ? base::NumberText(value, 9) : ""; }

}  // namespace

Json JsonNumber(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json TrainingsJson(const std::vector<NamedTraining>& trainings, const FederatedRuns& runs) {
  Json json = Json::array();
  for (const auto& [name, setting] : trainings) {
    Json training = {{"name", name}};
    training.update(RunJson(setting, runs.at(setting)));
    json.push_back(std::move(training));
  }
  return json;
}

std::string TrainingsCsv(const std::vector<NamedTraining>& trainings, const FederatedRuns& runs) {
  std::string csv =
      "training,clip_norm,noise,round,accuracy_top1,accuracy_top1_smoothed,perplexity,promise\n";
  for (const auto& [name, setting] : trainings) {
    const FederatedRun& run = runs.at(setting);
    for (const FederatedEvaluation& evaluation : run.evaluations) {
      csv += "\"" + name + "\"," + Digits(setting.clip_norm) + "," +
             Digits(NoiseDeviation(setting)) + "," + std::to_string(evaluation.round) + "," +
             Digits(evaluation.accuracy_top1) + "," + Digits(evaluation.smoothed_accuracy_top1) +
             "," + Digits(evaluation.perplexity) + ",\"" + PromiseOf(setting, run) + "\"\n";
    }
  }
  return csv;
}

std::string TrainingsTable(const std::vector<NamedTraining>& trainings, const FederatedRuns& runs) {
  HtmlTable table({"training", "users a round", "S", "noise", "rounds", "AccuracyTop1, %",
                   "smoothed, %", "perplexity", "what is promised"});
  std::string statements;
  for (const auto& [name, setting] : trainings) {
    const FederatedRun& run = runs.at(setting);
    const FederatedEvaluation& last = run.evaluations.back();
    table.Row()
        .Cell(name)
        .Cell(setting.expected_users)
        .Cell(setting.clip_norm)
        .Cell(NoiseDeviation(setting))
        .Cell(static_cast<double>(last.round))
        .Cell(100 * last.accuracy_top1)
        .Cell(100 * last.smoothed_accuracy_top1)
        .Cell(last.perplexity)
        .Cell(PromiseOf(setting, run));
    if (run.promise.has_value()) {
      statements += HtmlParagraph(name + ":") + HtmlPromise(run.promise->stated);
    }
  }
  std::string html = HtmlHeading("Every training, at its end") + table.Html();
  if (!statements.empty()) html += HtmlHeading("What is promised") + statements;
  return html;
}

}  // namespace submix::eval
