#include "submix/eval/figures/federated_report.h"

#include <cmath>

#include "submix/accounting/privacy_statement.h"
#include "submix/base/check.h"
#include "submix/base/csv.h"
#include "submix/base/number_text.h"
#include "submix/eval/pages/html_page.h"

namespace submix::eval {
namespace {

using base::StatusOr;
using Json = nlohmann::ordered_json;

const char* NameOf(UpdateAverage average) {
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
               {"average", NameOf(setting.average)},
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

// Name, every option, every evaluation, epsilon with its statement or why none.
Json TrainingJson(const std::string& name, const FederatedSetting& setting,
                  const FederatedRun& run) {
  Json json = {{"name", name}, {"setting", SettingJson(setting)}};
  for (const auto& [option, value] : run.options) json["options"][option] = value;
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

std::string TrainingsCsv(const NamedTrainings& trainings, const FederatedRuns& runs) {
  std::string csv =
      "training,clip_norm,noise,round,accuracy_top1,accuracy_top1_smoothed,perplexity,promise\n";
  const auto number = [](double value) {
    return std::isfinite(value) ? base::NumberText(value, 9) : "";
  };
  for (const auto& [name, setting] : trainings) {
    const FederatedRun& run = runs.at(setting);
    for (const FederatedEvaluation& evaluation : run.evaluations) {
      csv += base::CsvRow({name, number(setting.clip_norm), number(NoiseDeviation(setting)),
                           std::to_string(evaluation.round), number(evaluation.accuracy_top1),
                           number(evaluation.smoothed_accuracy_top1), number(evaluation.perplexity),
                           PromiseOf(setting, run)});
    }
  }
  return csv;
}

// A row a training, at its end; then the statement of every private one.
std::string TrainingsHtml(const NamedTrainings& trainings, const FederatedRuns& runs) {
  HtmlTable table({"training", "users a round", "S", "noise", "rounds", "AccuracyTop1, %",
                   "smoothed, %", "perplexity", "what is promised"});
  std::string statements;
  for (const auto& [name, setting] : trainings) {
    const FederatedRun& run = runs.at(setting);
    const FederatedEvaluation& last = run.evaluations.back();
    table.Row({name, setting.expected_users, setting.clip_norm, NoiseDeviation(setting),
               static_cast<double>(last.round), 100 * last.accuracy_top1, PercentAt(run),
               last.perplexity, PromiseOf(setting, run)});
    if (run.promise) statements += HtmlParagraph(name + ":") + HtmlPromise(run.promise->stated);
  }
  if (!statements.empty()) statements = HtmlHeading("What is promised") + statements;
  return table.HtmlUnder("Every training, at its end") + statements;
}

}  // namespace

std::optional<FederatedSetting> EarlierSetting(const FederatedSetting& setting) {
  if (!(setting.earlier_clip_norm > 0)) return std::nullopt;
  FederatedSetting earlier = setting;
  earlier.clip_norm = setting.earlier_clip_norm;
  earlier.rounds = setting.earlier_rounds;
  earlier.earlier_clip_norm = 0;
  earlier.earlier_rounds = 0;
  return earlier;
}

double NoiseDeviation(const FederatedSetting& setting) {
  if (setting.noise_multiplier > 0) {
    return setting.noise_multiplier * setting.clip_norm / setting.expected_users;
  }
  return setting.simulated_users > 0 ? setting.clip_norm / setting.simulated_users : 0;
}

std::string ClippingAndNoise(const FederatedSetting& setting) {
  return "S = " + ShortNumber(setting.clip_norm) + ", noise " +
         base::NumberText(NoiseDeviation(setting), 2);
}

double PercentAt(const FederatedRun& run, double round) {
  SUBMIX_CHECK(!run.evaluations.empty(), "a training that was never looked at");
  const FederatedEvaluation* last = &run.evaluations.front();
  for (const FederatedEvaluation& evaluation : run.evaluations) {
    if (static_cast<double>(evaluation.round) <= round) last = &evaluation;
  }
  return 100 * last->smoothed_accuracy_top1;
}

std::string PromiseOf(const FederatedSetting& setting, const FederatedRun& run) {
  if (run.promise.has_value()) {
    return "(" + accounting::FormatCost(run.promise->epsilon) + ", " +
           ShortNumber(run.promise->delta) +
           ")-DP for each user, present or absent; worst case, proven";
  }
  if (setting.fixed_size_sample) {
    return "nothing: a sample of fixed size, which the accountant has no price for (research)";
  }
  if (setting.simulated_users > 0) {
    return "nothing: the noise of more users a round, simulated (research)";
  }
  return "nothing: no noise";
}

StatusOr<FederatedRuns> TrainAll(const NamedTrainings& trainings,
                                 const FederatedModelSource& source) {
  FederatedRuns runs;
  for (const auto& [name, setting] : trainings) {
    if (runs.contains(setting)) continue;
    SUBMIX_ASSIGN_OR_RETURN(runs[setting], source.train(setting));
  }
  return runs;
}

Json JsonNumber(double value) { return std::isfinite(value) ? Json(value) : Json(); }

FigurePage PageOf(const Figure& figure, const Findings& findings, const NamedTrainings& trainings,
                  const FederatedRuns& runs) {
  FigurePage page = {.figure = figure};
  Json json = {{"name", figure.name},
               {"title", figure.title},
               {"reading", findings.reading},
               {findings.key, findings.json}};
  page.body = HtmlParagraph(findings.reading) + findings.html + TrainingsHtml(trainings, runs);
  if (!trainings.empty()) {
    for (const auto& [name, setting] : trainings) {
      json["trainings"].push_back(TrainingJson(name, setting, runs.at(setting)));
    }
    page.files = {{"trainings.csv", TrainingsCsv(trainings, runs)}};
  }
  page.json = json.dump(2) + "\n";
  return page;
}

}  // namespace submix::eval
