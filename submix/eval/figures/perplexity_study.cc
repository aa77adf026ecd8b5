#include "submix/eval/figures/perplexity_study.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/accounting/privacy_statement.h"
#include "submix/base/csv.h"
#include "submix/base/file_system.h"
#include "submix/base/number_text.h"
#include "submix/base/progress_bar.h"
#include "submix/base/text_table.h"
#include "submix/eval/pages/html_page.h"
#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/options_table.h"
#include "submix/mechanism/research/adapmixed.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::eval {
namespace {

using base::FixedText;
using base::NumberText;
using base::Status;
using base::StatusOr;
using nlohmann::json;

struct ScoredPoint {
  std::string curve = {};
  double x = 0;
  EnsembleSetting setting = {};
  StatedPromise stated = {};
  SettingResult result = {};
  Baselines baselines = {};  // on the same positions
  KeptShare kept = {};       // of what the fine-tuned model gains
  std::optional<PrivacyLoss> loss = {};
  bool is_sound = false;       // proven for every data set
  std::string guarantee = {};  // what is promised, with its labels, in one line
};

struct ScoredModel {
  PrivateTraining asked;
  PrivatelyTrained trained;
  PerplexityRuns perplexity;  // on the positions of the levels
};

struct Scores {
  std::vector<ScoredPoint> points = {};  // curve by curve, as in the study
  std::vector<ScoredModel> private_models = {};
  Baselines levels;  // of the reference ensemble, with the most tokens
};

// A file of its own for other models or another number of runs: nobody has to remove the old one.
StatusOr<EvaluationCheckpoint> CheckpointOf(const std::string& name,
                                            const std::vector<std::string>& models,
                                            const EvaluationPlan& plan, const ModelSource& source) {
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(source.checkpoint_directory));
  EvaluationCheckpoint checkpoint;
  SUBMIX_ASSIGN_OR_RETURN(checkpoint.models, source.models_digest(models));
  std::string what = base::ToHex(checkpoint.models) + " " + std::to_string(plan.runs);
  for (const EvaluationSetting& setting : plan.settings) {
    what += " " + std::to_string(setting.tokens);
  }
  checkpoint.path =
      base::JoinPath(source.checkpoint_directory,
                     name + "-" + base::ToHex(base::Sha256(what)).substr(0, 8) + ".runs");
  return checkpoint;
}

// What one ensemble answers. `private_models` are scored after the non-private one.
StatusOr<EvaluationResult> Score(const PerplexityStudy& study, const EnsembleShape& shape,
                                 const std::vector<ScoredPoint*>& points,
                                 const std::vector<ScoredModel>& private_models,
                                 const ModelSource& source) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string directory, source.train(shape));
  SUBMIX_ASSIGN_OR_RETURN(const std::string fine_tuned, source.train({1, 1}));
  std::vector<std::string> whole_models = {fine_tuned};
  for (const ScoredModel& model : private_models) whole_models.push_back(model.trained.directory);
  EvaluationPlan plan;
  plan.runs = study.runs;
  plan.most_runs = study.most_runs;
  plan.num_parts = shape.num_parts;
  plan.halves = shape.halves;
  plan.num_fine_tuned = static_cast<int>(whole_models.size());
  plan.seed = source.seed;
  for (const ScoredPoint* point : points) plan.settings.push_back(point->setting.asked);
  std::vector<std::string> models = whole_models;
  models.insert(models.begin(), directory);
  SUBMIX_ASSIGN_OR_RETURN(const EvaluationCheckpoint checkpoint,
                          CheckpointOf(study.figure.name + "-" + std::to_string(shape.num_parts) +
                                           "x" + std::to_string(shape.halves),
                                       models, plan, source));
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor, source.load(directory, whole_models));
  base::ProgressBar progress(study.figure.name + ", " + std::to_string(shape.num_parts) +
                                 (shape.halves == 2 ? " parts in pairs" : " parts"),
                             NumPositions(plan), "tokens");
  return Evaluate(*predictor, source.heldout, plan, progress, checkpoint);
}

Status TakeResult(const EvaluationResult& evaluation, const SettingResult& result,
                  ScoredPoint& scored) {
  const EnsembleSetting& setting = scored.setting;
  scored.stated = setting.stated.value_or(
      StatedPromise{"part", result.setting.mechanism.order.ToString(), result.setting.epsilon});
  scored.result = result;
  scored.baselines = evaluation.BaselinesOf(result);
  scored.kept =
      Kept(scored.baselines.public_model, result.perplexity, scored.baselines.fine_tuned.front());
  SUBMIX_ASSIGN_OR_RETURN(scored.loss, PrivacyLossOf(result));
  SUBMIX_ASSIGN_OR_RETURN(const auto mechanism,
                          mechanism::MakeAnyMechanism(result.setting.mechanism));
  scored.is_sound = setting.guarantee.empty() && mechanism->is_private() && mechanism->is_sound();
  if (!setting.guarantee.empty()) {
    scored.guarantee = setting.guarantee;
  } else if (mechanism->is_private()) {
    const auto budget = accounting::FixedNats::RoundDown(result.setting.epsilon);
    scored.guarantee = mechanism->Statement(budget).Labels();
  } else {
    scored.guarantee = "none: not private";
  }
  return base::OkStatus();
}

StatusOr<Scores> ScoreAll(const PerplexityStudy& study, const ModelSource& source) {
  Scores scores;
  for (const auto& [name, points] : study.curves) {
    for (const auto& [x, setting] : points) scores.points.push_back({name, x, setting});
  }
  std::map<EnsembleShape, std::vector<ScoredPoint*>> points_of;
  for (ScoredPoint& point : scores.points) points_of[point.setting.ensemble].push_back(&point);
  for (const PrivateTraining& asked : study.private_trainings) {
    SUBMIX_ASSIGN_OR_RETURN(PrivatelyTrained trained, source.train_privately(asked));
    scores.private_models.push_back({asked, std::move(trained), {}});
  }
  for (const auto& [shape, points] : points_of) {
    const bool is_reference = shape == study.reference;
    SUBMIX_ASSIGN_OR_RETURN(
        const EvaluationResult evaluation,
        Score(study, shape, points,
              is_reference ? scores.private_models : std::vector<ScoredModel>(), source));
    for (std::size_t i = 0; i < points.size(); ++i) {
      SUBMIX_RETURN_IF_ERROR(TakeResult(evaluation, evaluation.settings[i], *points[i]));
    }
    if (!is_reference) continue;
    scores.levels = evaluation.baselines.back();
    for (std::size_t i = 0; i < scores.private_models.size(); ++i) {
      scores.private_models[i].perplexity = scores.levels.fine_tuned[1 + i];
    }
  }
  return scores;
}

// The non-private models: name and perplexities.
std::vector<std::pair<std::string, PerplexityRuns>> LevelsOf(const Scores& scores) {
  std::vector<std::pair<std::string, PerplexityRuns>> levels = {
      {"public model", scores.levels.public_model},
      {"single member", scores.levels.single},
      {"ensemble", scores.levels.ensemble}};
  if (!scores.levels.fine_tuned.empty()) {
    levels.emplace_back("fine-tuned on all text", scores.levels.fine_tuned.front());
  }
  return levels;
}

// What we have for a number of the paper, if anything.
std::optional<double> OursFor(const PaperNumber& number, const Scores& scores) {
  for (const auto& [name, perplexity] : LevelsOf(scores)) {
    if (name == number.curve) return perplexity.corpus();
  }
  for (const ScoredPoint& point : scores.points) {
    if (point.curve == number.curve && point.x == number.x) return point.result.perplexity.corpus();
  }
  for (const ScoredModel& model : scores.private_models) {
    if (model.asked.curve == number.curve && model.asked.x.value_or(number.x) == number.x) {
      return model.perplexity.corpus();
    }
  }
  return std::nullopt;
}

void PlotPrivateModels(const PerplexityStudy& study, const Scores& scores, Figure& figure) {
  for (const ScoredModel& model : scores.private_models) {
    auto curve = std::ranges::find(figure.curves, model.asked.curve, &FigureCurve::name);
    if (curve == figure.curves.end()) {
      curve = figure.curves.insert(curve, {.name = model.asked.curve,
                                           .guarantee = model.trained.guarantee,
                                           .is_level = !model.asked.x});
    }
    curve->points.push_back(
        {.x = study.x_is_spent ? model.trained.epsilon_spent : model.asked.x.value_or(0),
         .y = model.perplexity.corpus()});
  }
}

// A mechanism far worse than every level would leave the others no room in the frame.
void EndAboveTheLevels(Figure& figure) {
  double highest_level = 0;
  for (const FigureCurve& curve : figure.curves) {
    if (curve.is_level) highest_level = std::max(highest_level, curve.points.front().y);
  }
  const double top = 1.15 * highest_level;
  for (const FigureCurve& curve : figure.curves) {
    for (const FigurePoint& point : curve.points) {
      if (point.y > top) figure.top = top;
    }
  }
}

Figure PlotKept(const PerplexityStudy& study, const Scores& scores) {
  constexpr double kNothing = 0.01;
  constexpr char kPlottedOrder[] = "2";  // of the promise
  Figure figure = study.figure;
  std::map<std::string, FigureCurve> curves;
  for (const ScoredPoint& point : scores.points) {
    const EvaluationSetting& setting = point.result.setting;
    if (!(point.kept.value >= kNothing) || point.stated.order != kPlottedOrder) continue;
    const std::string name = setting.mechanism.name + " per " + point.stated.unit +
                             ", B = " + std::to_string(setting.tokens);
    FigureCurve& curve = curves[name];
    curve.name = name;
    curve.guarantee =
        (point.stated.unit == "user" ? "for users, by what is declared: " : "") + point.guarantee;
    curve.points.push_back({.x = static_cast<double>(point.setting.ensemble.num_parts),
                            .y = point.kept.value,
                            .low = point.kept.low,
                            .high = point.kept.high});
  }
  for (auto& [name, curve] : curves) figure.curves.push_back(std::move(curve));
  return figure;
}

Figure PlotPerplexities(const PerplexityStudy& study, const Scores& scores) {
  Figure figure = study.figure;
  for (const auto& [name, perplexity] : LevelsOf(scores)) {
    figure.curves.push_back({.name = name,
                             .guarantee = name == "public model" ? "private: it never saw the text"
                                                                 : "none: not private",
                             .is_level = true,
                             .points = {{.y = perplexity.corpus()}}});
  }
  for (const auto& [name, settings] : study.curves) {
    FigureCurve curve = {.name = name};
    for (const ScoredPoint& point : scores.points) {
      if (point.curve != name) continue;
      curve.guarantee = point.guarantee;
      const double perplexity = point.result.perplexity.corpus();
      const double spread =
          study.plots_spread ? point.result.perplexity.deviation() : FigurePoint::kNone;
      curve.points.push_back({.x = study.x_is_spent ? point.result.epsilon_spent_max : point.x,
                              .y = perplexity,
                              .low = perplexity - spread,
                              .high = perplexity + spread});
    }
    std::ranges::sort(curve.points, {}, &FigurePoint::x);
    figure.curves.push_back(std::move(curve));
  }
  PlotPrivateModels(study, scores, figure);
  if (!figure.log_y) EndAboveTheLevels(figure);
  return figure;
}

json PerplexityJson(const PerplexityRuns& perplexity) {
  return {{"perplexity", perplexity.corpus()},
          {"block_perplexity", perplexity.block_mean()},
          {"runs", perplexity.runs},
          {"block_runs", perplexity.block_runs}};
}

json ModelJson(const ScoredModel& model) {
  const accounting::EpsilonBound& promise = model.trained.promise;
  json result = PerplexityJson(model.perplexity);
  result.update({{"curve", model.asked.curve},
                 {"epochs", model.asked.epochs},
                 {"order", model.asked.order},
                 {"epsilon", model.asked.epsilon},
                 {"spent", model.trained.epsilon_spent},
                 {"promise", {{"epsilon", promise.epsilon}, {"delta", promise.delta}}},
                 {"steps", model.trained.steps},
                 {"accuracy_top1", model.perplexity.accuracy()},
                 {"guarantee", model.trained.guarantee}});
  return result;
}

json PointJson(const ScoredPoint& point) {
  const EvaluationSetting& setting = point.result.setting;
  const mechanism::MechanismOptions& options = setting.mechanism;
  const StatedPromise& stated = point.stated;
  json result = PerplexityJson(point.result.perplexity);
  result.update(
      {{"curve", point.curve},
       {"x", point.x},
       {"stated", {{"unit", stated.unit}, {"order", stated.order}, {"epsilon", stated.epsilon}}},
       {"parts", point.setting.ensemble.num_parts},
       {"halves", point.setting.ensemble.halves},
       {"epsilon", setting.epsilon},
       {"queries", setting.tokens},
       {"sound", point.is_sound},
       {"guarantee", point.guarantee},
       {"spent_max", point.result.epsilon_spent_max},
       {"spent_mean", point.result.epsilon_spent_mean},
       {"perplexity_deviation", point.result.perplexity.deviation()},
       {"public", point.baselines.public_model.corpus()},
       {"ensemble", point.baselines.ensemble.corpus()},
       {"fine_tuned", point.baselines.fine_tuned.front().corpus()}});
  for (const mechanism::MechanismOption& option : mechanism::MechanismOptionsTable()) {
    std::visit([&](const auto& value) { result[json::json_pointer(option.pointer())] = value; },
               mechanism::ValueOf(option, options));
  }
  if (point.loss) {
    result["privacy_loss"] = {{"answers", point.loss->answers},
                              {"screen", point.loss->screen},
                              {"conversion", point.loss->conversion},
                              {"epsilon", point.loss->epsilon()},
                              {"delta", point.loss->delta}};
  }
  return result;
}

std::string StudyJson(const PerplexityStudy& study, const Scores& scores,
                      const Provenance& provenance) {
  json result = {
      {"name", study.figure.name},
      {"provenance", std::map<std::string, std::string>(provenance.begin(), provenance.end())},
      {"title", study.figure.title},
      {"levels", json::object()},
      {"rows", json::array()},
      {"private_models", json::array()},
      {"paper", json::array()}};
  for (const auto& [name, perplexity] : LevelsOf(scores)) {
    result["levels"][name] = PerplexityJson(perplexity);
  }
  for (const ScoredPoint& point : scores.points) result["rows"].push_back(PointJson(point));
  for (const ScoredModel& model : scores.private_models) {
    result["private_models"].push_back(ModelJson(model));
  }
  for (const PaperNumber& number : study.paper) {
    result["paper"].push_back({{"what", number.what}, {"value", number.value}});
    if (const auto ours = OursFor(number, scores)) result["paper"].back()["ours"] = *ours;
  }
  return result.dump(1) + "\n";
}

std::string KeptCsv(const Scores& scores, const std::string& adapters) {
  std::string csv =
      "mechanism,k,adapters,unit,order,epsilon,queries,sound,public,private,non_private,kept,"
      "kept_low,kept_high\n";
  for (const ScoredPoint& point : scores.points) {
    csv += base::CsvRow(
        {point.result.setting.mechanism.name, std::to_string(point.setting.ensemble.num_parts),
         adapters, point.stated.unit, point.stated.order, NumberText(point.stated.epsilon),
         std::to_string(point.result.setting.tokens), point.is_sound ? "true" : "false",
         FixedText(point.baselines.public_model.corpus(), 4),
         FixedText(point.result.perplexity.corpus(), 4),
         FixedText(point.baselines.fine_tuned.front().corpus(), 4), FixedText(point.kept.value, 4),
         FixedText(point.kept.low, 4), FixedText(point.kept.high, 4)});
  }
  return csv;
}

std::string PrivateTrainingCsv(const Scores& scores, const std::string& public_model) {
  std::string csv = "method,model,unit,epsilon,delta,perplexity,accuracy_top1,rounds\n";
  const auto add = [&](const char* method, const PrivatelyTrained& trained,
                       const PerplexityRuns& perplexity) {
    csv += base::CsvRow({method, public_model, "user", NumberText(trained.promise.epsilon),
                         NumberText(trained.promise.delta, 3), FixedText(perplexity.corpus(), 4),
                         FixedText(perplexity.accuracy(), 4), std::to_string(trained.steps)});
  };
  const PrivatelyTrained not_private = {.promise = {std::numeric_limits<double>::infinity(), 0}};
  add("none", not_private, scores.levels.fine_tuned.front());
  for (const ScoredModel& model : scores.private_models) {
    add("dp-sgd", model.trained, model.perplexity);
  }
  return csv;
}

std::string ModelsHtml(const PerplexityStudy& study, const Scores& scores) {
  HtmlTable paper({"what", "paper", "ours"});
  for (const PaperNumber& number : study.paper) {
    const auto ours = OursFor(number, scores);
    paper.Row({number.what, number.value, ours ? HtmlCell(*ours) : "not measured here"});
  }
  HtmlTable levels({"model", "perplexity", "mean over blocks"});
  for (const auto& [name, perplexity] : LevelsOf(scores)) {
    levels.Row({name, perplexity.corpus(), perplexity.block_mean()});
  }
  HtmlTable models({"curve", "order", "epsilon", "spent", "as (epsilon, delta)", "perplexity",
                    "mean over blocks", "accuracy", "what is promised"});
  for (const auto& [asked, trained, perplexity] : scores.private_models) {
    models.Row({asked.curve, asked.order, asked.epsilon, trained.epsilon_spent,
                "(" + ShortNumber(trained.promise.epsilon) + ", " +
                    ShortNumber(trained.promise.delta) + ")",
                perplexity.corpus(), perplexity.block_mean(), perplexity.accuracy(),
                trained.guarantee});
  }
  return paper.HtmlUnder("The paper's numbers beside ours") +
         levels.HtmlUnder("Without a mechanism") +
         models.HtmlUnder("Models trained with differential privacy");
}

std::string PointsHtml(const Scores& scores) {
  HtmlTable points({"curve", "order", "epsilon", "answers", "runs", "perplexity",
                    "spread over runs", "mean over blocks", "spent at most", "kept",
                    "what is promised"});
  HtmlTable losses({"curve", "answers", "order", "the answers' charges", "the screen's",
                    "conversion", "epsilon", "delta"});
  for (const ScoredPoint& point : scores.points) {
    const EvaluationSetting& setting = point.result.setting;
    const PerplexityRuns& perplexity = point.result.perplexity;
    const std::string order = setting.mechanism.order.ToString();
    const auto tokens = static_cast<double>(setting.tokens);
    points.Row({point.curve, order, setting.epsilon, tokens,
                static_cast<double>(perplexity.runs.size()), perplexity.corpus(),
                perplexity.deviation(), perplexity.block_mean(), point.result.epsilon_spent_max,
                point.kept.value, point.guarantee});
    if (!point.loss) continue;
    losses.Row({point.curve, tokens, order, point.loss->answers, point.loss->screen,
                point.loss->conversion, point.loss->epsilon(), point.loss->delta});
  }
  return points.HtmlUnder("Every point") +
         losses.HtmlUnder("What the privacy loss is made of, nats of the part that spent most");
}

}  // namespace

StatusOr<FigurePage> RunPerplexityStudy(const PerplexityStudy& study, const ModelSource& source) {
  SUBMIX_ASSIGN_OR_RETURN(const Scores scores, ScoreAll(study, source));
  FigurePage page = {.figure = study.plots_kept ? PlotKept(study, scores)
                                                : PlotPerplexities(study, scores)};
  page.provenance = source.provenance;
  page.json = StudyJson(study, scores, page.provenance);
  page.body = HtmlParagraph(study.reading) +
              HtmlParagraph(
                  "The operator's view, outside every budget: publishing these numbers, or "
                  "choosing options by them, is a release of its own. “Kept” is the share of "
                  "what non-private fine-tuning gains, in perplexity.") +
              ModelsHtml(study, scores) + PointsHtml(scores);
  page.files = {{"kept.csv", KeptCsv(scores, source.adapters)}};
  if (!scores.private_models.empty()) {
    page.files.emplace_back("private_training.csv",
                            PrivateTrainingCsv(scores, source.public_model));
  }
  return page;
}

StatusOr<std::optional<PrivacyLoss>> PrivacyLossOf(const SettingResult& result) {
  const EvaluationSetting& setting = result.setting;
  if (setting.mechanism.name != mechanism::kAdaPMixedName) return std::optional<PrivacyLoss>();
  SUBMIX_ASSIGN_OR_RETURN(const auto screen, mechanism::NoisyScreen::Create(setting.mechanism));
  PrivacyLoss loss;
  loss.screen = static_cast<double>(setting.tokens) * screen.PublishedNats();
  loss.answers = result.epsilon_spent_max - loss.screen;
  SUBMIX_ASSIGN_OR_RETURN(
      const double epsilon,
      accounting::EpsilonForDelta({setting.mechanism.order, result.epsilon_spent_max}, loss.delta,
                                  accounting::ConversionKind::kImproved));
  loss.conversion = epsilon - result.epsilon_spent_max;
  return std::optional(loss);
}

}  // namespace submix::eval
