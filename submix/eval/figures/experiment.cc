#include "submix/eval/figures/experiment.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

#include "submix/accounting/privacy_statement.h"
#include "submix/base/file_system.h"
#include "submix/base/progress_bar.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::eval {
namespace {

using base::Status;
using base::StatusOr;

constexpr char kPublicLevel[] = "public model";
constexpr char kSingleLevel[] = "single member";
constexpr char kEnsembleLevel[] = "ensemble";
constexpr char kFineTunedLevel[] = "fine-tuned on all text";

// The indices of the points that one ensemble answers: curve and place in it.
struct PointIndex {
  std::size_t curve;
  std::size_t point;
};

std::map<EnsembleShape, std::vector<PointIndex>> PointsByEnsemble(const Experiment& experiment) {
  std::map<EnsembleShape, std::vector<PointIndex>> points;
  for (std::size_t c = 0; c < experiment.curves.size(); ++c) {
    for (std::size_t p = 0; p < experiment.curves[c].points.size(); ++p) {
      points[experiment.curves[c].ensemble].push_back({c, p});
    }
  }
  return points;
}

std::string ShapeName(const EnsembleShape& shape) {
  return std::to_string(shape.num_parts) + (shape.halves == 2 ? " parts in pairs" : " parts");
}

// What must stand beside every epsilon of the mechanism.
std::string GuaranteeOf(const mechanism::Mechanism& mechanism, double epsilon) {
  if (!mechanism.is_private()) return "none: not private";
  return mechanism.Statement(accounting::FixedNats::RoundDown(epsilon)).Labels();
}

// A file of its own for other models or another number of runs: nobody has to remove the old one.
StatusOr<EvaluationCheckpoint> CheckpointOf(const std::string& name,
                                            const std::vector<std::string>& models,
                                            const EvaluationPlan& plan, const Workshop& workshop) {
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(workshop.checkpoint_directory));
  EvaluationCheckpoint checkpoint;
  SUBMIX_ASSIGN_OR_RETURN(checkpoint.models, workshop.models_digest(models));
  std::string what = base::ToHex(checkpoint.models) + " " + std::to_string(plan.runs);
  for (const EvaluationSetting& setting : plan.settings) {
    what += " " + std::to_string(setting.queries);
  }
  checkpoint.path =
      base::JoinPath(workshop.checkpoint_directory,
                     name + "-" + base::ToHex(base::Sha256(what)).substr(0, 8) + ".runs");
  return checkpoint;
}

// `private_models`: scored after the non-private one.
StatusOr<EvaluationResult> Score(const Experiment& experiment, const EnsembleShape& shape,
                                 const std::vector<PointIndex>& points,
                                 const std::vector<PrivateModelRow>& private_models,
                                 const Workshop& workshop) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string directory, workshop.train(shape));
  SUBMIX_ASSIGN_OR_RETURN(const std::string fine_tuned, workshop.train({1, 1}));
  std::vector<std::string> whole_models = {fine_tuned};
  for (const PrivateModelRow& row : private_models) whole_models.push_back(row.trained.directory);
  EvaluationPlan plan;
  plan.runs = experiment.runs;
  plan.most_runs = experiment.most_runs;
  plan.num_parts = shape.num_parts;
  plan.halves = shape.halves;
  plan.num_fine_tuned = static_cast<int>(whole_models.size());
  plan.seed = workshop.seed;
  for (const PointIndex& index : points) {
    plan.settings.push_back(experiment.curves[index.curve].points[index.point].setting);
  }
  std::vector<std::string> models = whole_models;
  models.insert(models.begin(), directory);
  SUBMIX_ASSIGN_OR_RETURN(const EvaluationCheckpoint checkpoint,
                          CheckpointOf(experiment.name + "-" + std::to_string(shape.num_parts) +
                                           "x" + std::to_string(shape.halves),
                                       models, plan, workshop));
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor, workshop.load(directory, whole_models));
  base::ProgressBar progress(experiment.name + ", " + ShapeName(shape), NumPositions(plan),
                             "answers");
  return Evaluate(*predictor, workshop.heldout, plan, progress, checkpoint);
}

StatusOr<ExperimentRow> RowOf(const ExperimentCurve& curve, const ExperimentPoint& point,
                              const SettingResult& result, const EvaluationResult& evaluation) {
  ExperimentRow row;
  row.curve = curve.name;
  row.ensemble = curve.ensemble;
  row.x = point.x;
  row.stated = point.stated.value_or(
      StatedPromise{"part", result.setting.mechanism.order.ToString(), result.setting.epsilon});
  row.result = result;
  row.baselines = evaluation.BaselinesOf(result);
  row.kept = Kept(row.baselines.public_model, result.perplexity, row.baselines.fine_tuned.front());
  SUBMIX_ASSIGN_OR_RETURN(row.loss, PrivacyLossOf(result));
  SUBMIX_ASSIGN_OR_RETURN(const auto mechanism,
                          mechanism::MakeAnyMechanism(result.setting.mechanism));
  row.is_sound = curve.guarantee.empty() && mechanism->is_private() && mechanism->is_sound();
  row.guarantee =
      curve.guarantee.empty() ? GuaranteeOf(*mechanism, result.setting.epsilon) : curve.guarantee;
  return row;
}

FigureCurve LevelCurve(const std::string& name, const PerplexityRuns& perplexity) {
  FigureCurve level;
  level.name = name;
  level.guarantee = name == kPublicLevel ? "private: it never saw the text" : "none: not private";
  level.is_level = true;
  level.points.push_back({.x = 0, .y = perplexity.corpus()});
  return level;
}

void DrawPrivateModels(const Experiment& experiment, const ExperimentResult& result,
                       Figure& figure) {
  for (const PrivateModelRow& row : result.private_models) {
    const FigurePoint point = {
        .x = experiment.x_is_spent ? row.trained.epsilon_spent : row.asked.x.value_or(0),
        .y = row.perplexity.corpus()};
    const auto same =
        std::find_if(figure.curves.begin(), figure.curves.end(),
                     [&](const FigureCurve& curve) { return curve.name == row.asked.curve; });
    if (same != figure.curves.end()) {
      same->points.push_back(point);
    } else {
      figure.curves.push_back({.name = row.asked.curve,
                               .guarantee = row.trained.guarantee,
                               .is_level = !row.asked.x,
                               .points = {point}});
    }
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

void DrawKept(const ExperimentResult& result, Figure& figure) {
  constexpr double kNothing = 0.01;
  constexpr char kDrawnOrder[] = "2";  // of the promise
  figure.y_label = "share of the improvement kept";
  std::map<std::string, FigureCurve> curves;
  for (const ExperimentRow& row : result.rows) {
    const EvaluationSetting& setting = row.result.setting;
    if (!(row.kept.value >= kNothing) || row.stated.order != kDrawnOrder) continue;
    FigureCurve& curve = curves[setting.mechanism.name + " per " + row.stated.unit +
                                ", B = " + std::to_string(setting.queries)];
    curve.guarantee =
        (row.stated.unit == "user" ? "for users, by what is declared: " : "") + row.guarantee;
    curve.points.push_back({.x = static_cast<double>(row.ensemble.num_parts),
                            .y = row.kept.value,
                            .low = row.kept.low,
                            .high = row.kept.high});
  }
  for (auto& [name, curve] : curves) {
    curve.name = name;
    figure.curves.push_back(std::move(curve));
  }
}

nlohmann::json PerplexityJson(const PerplexityRuns& perplexity) {
  return {{"perplexity", perplexity.corpus()},
          {"block_perplexity", perplexity.block_mean()},
          {"runs", perplexity.runs},
          {"block_runs", perplexity.block_runs}};
}

nlohmann::json PrivateModelJson(const PrivateModelRow& row) {
  nlohmann::json json = PerplexityJson(row.perplexity);
  json.update({{"curve", row.asked.curve},
               {"epochs", row.asked.epochs},
               {"order", row.asked.order},
               {"epsilon", row.asked.epsilon},
               {"spent", row.trained.epsilon_spent},
               {"promise",
                {{"epsilon", row.trained.promise.epsilon}, {"delta", row.trained.promise.delta}}},
               {"steps", row.trained.steps},
               {"accuracy_top1", row.perplexity.accuracy()},
               {"guarantee", row.trained.guarantee}});
  return json;
}

nlohmann::json RowJson(const ExperimentRow& row) {
  const EvaluationSetting& setting = row.result.setting;
  const mechanism::MechanismOptions& options = setting.mechanism;
  nlohmann::json json = PerplexityJson(row.result.perplexity);
  json.update(
      {{"curve", row.curve},
       {"x", row.x},
       {"stated",
        {{"unit", row.stated.unit}, {"order", row.stated.order}, {"epsilon", row.stated.epsilon}}},
       {"mechanism", options.name},
       {"parts", row.ensemble.num_parts},
       {"halves", row.ensemble.halves},
       {"order", options.order.ToString()},
       {"epsilon", setting.epsilon},
       {"queries", setting.queries},
       {"target_leakage", options.target_leakage},
       {"max_mixing_weight", options.max_mixing_weight},
       {"sampling_probability", options.sampling_probability},
       {"ball_radius", options.ball_radius},
       {"accounting", ToString(options.accounting)},
       {"clip", {{"stretch", options.clip.stretch}, {"centre", options.clip.centre}}},
       {"screen",
        {{"mixing_weight", options.screen.mixing_weight},
         {"noise_scale", options.screen.noise_scale},
         {"threshold", options.screen.threshold},
         {"top_tokens", options.screen.top_tokens}}},
       {"sound", row.is_sound},
       {"guarantee", row.guarantee},
       {"spent_max", row.result.epsilon_spent_max},
       {"spent_mean", row.result.epsilon_spent_mean},
       {"perplexity_deviation", row.result.perplexity.deviation()},
       {"public", row.baselines.public_model.corpus()},
       {"ensemble", row.baselines.ensemble.corpus()},
       {"fine_tuned", row.baselines.fine_tuned.front().corpus()}});
  if (row.loss) {
    json["privacy_loss"] = {{"answers", row.loss->answers},
                            {"screen", row.loss->screen},
                            {"conversion", row.loss->conversion},
                            {"epsilon", row.loss->epsilon()},
                            {"delta", row.loss->delta}};
  }
  return json;
}

}  // namespace

StatusOr<ExperimentResult> RunExperiment(const Experiment& experiment, const Workshop& workshop) {
  std::vector<std::vector<ExperimentRow>> rows(experiment.curves.size());
  for (std::size_t c = 0; c < rows.size(); ++c) rows[c].resize(experiment.curves[c].points.size());
  ExperimentResult result;
  for (const PrivateTraining& asked : experiment.private_trainings) {
    SUBMIX_ASSIGN_OR_RETURN(PrivatelyTrained trained, workshop.train_privately(asked));
    result.private_models.push_back({asked, std::move(trained), {}});
  }
  for (const auto& [shape, points] : PointsByEnsemble(experiment)) {
    const bool is_reference = shape == experiment.reference;
    SUBMIX_ASSIGN_OR_RETURN(
        const EvaluationResult evaluation,
        Score(experiment, shape, points,
              is_reference ? result.private_models : std::vector<PrivateModelRow>(), workshop));
    for (std::size_t i = 0; i < points.size(); ++i) {
      const ExperimentCurve& curve = experiment.curves[points[i].curve];
      SUBMIX_ASSIGN_OR_RETURN(
          rows[points[i].curve][points[i].point],
          RowOf(curve, curve.points[points[i].point], evaluation.settings[i], evaluation));
    }
    if (!is_reference) continue;
    result.levels = evaluation.baselines.back();
    for (std::size_t i = 0; i < result.private_models.size(); ++i) {
      result.private_models[i].perplexity = result.levels.fine_tuned[1 + i];
    }
  }
  for (auto& curve : rows) {
    result.rows.insert(result.rows.end(), curve.begin(), curve.end());
  }
  return result;
}

Figure FigureOf(const Experiment& experiment, const ExperimentResult& result) {
  Figure figure;
  figure.name = experiment.name;
  figure.title = experiment.title;
  figure.x_label = experiment.x_label;
  figure.log_x = experiment.log_x;
  figure.log_y = experiment.log_y;
  if (experiment.draws_kept) {
    DrawKept(result, figure);
    return figure;
  }
  figure.y_label = "perplexity";
  for (const auto& [name, perplexity] : LevelsOf(result.levels)) {
    figure.curves.push_back(LevelCurve(name, perplexity));
  }
  for (const ExperimentCurve& curve : experiment.curves) {
    FigureCurve drawn;
    drawn.name = curve.name;
    for (const ExperimentRow& row : result.rows) {
      if (row.curve != curve.name) continue;
      drawn.guarantee = row.guarantee;
      const double perplexity = row.result.perplexity.corpus();
      const double spread =
          experiment.draws_spread ? row.result.perplexity.deviation() : FigurePoint::kNone;
      drawn.points.push_back({.x = experiment.x_is_spent ? row.result.epsilon_spent_max : row.x,
                              .y = perplexity,
                              .low = perplexity - spread,
                              .high = perplexity + spread});
    }
    std::sort(drawn.points.begin(), drawn.points.end(),
              [](const FigurePoint& a, const FigurePoint& b) { return a.x < b.x; });
    figure.curves.push_back(std::move(drawn));
  }
  DrawPrivateModels(experiment, result, figure);
  if (!figure.log_y) EndAboveTheLevels(figure);
  return figure;
}

std::string KeptCsv(const ExperimentResult& result, const std::string& adapters) {
  std::string csv =
      "mechanism,k,adapters,unit,order,epsilon,queries,sound,public,private,non_private,kept,"
      "kept_low,kept_high\n";
  char line[256];
  for (const ExperimentRow& row : result.rows) {
    std::snprintf(line, sizeof line, "%d,%s,%s,%s,%.6g,%lld,%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n",
                  row.ensemble.num_parts, adapters.c_str(), row.stated.unit.c_str(),
                  row.stated.order.c_str(), row.stated.epsilon,
                  static_cast<long long>(row.result.setting.queries),
                  row.is_sound ? "true" : "false", row.baselines.public_model.corpus(),
                  row.result.perplexity.corpus(), row.baselines.fine_tuned.front().corpus(),
                  row.kept.value, row.kept.low, row.kept.high);
    csv += row.result.setting.mechanism.name + "," + line;
  }
  return csv;
}

std::string PrivateTrainingCsv(const ExperimentResult& result, const std::string& model) {
  std::string csv = "method,model,unit,epsilon,delta,perplexity,accuracy_top1,rounds\n";
  char line[256];
  const auto add = [&](const char* method, const PrivatelyTrained& trained,
                       const PerplexityRuns& perplexity) {
    std::snprintf(line, sizeof line, ",user,%.6g,%.3g,%.4f,%.4f,%lld\n", trained.promise.epsilon,
                  trained.promise.delta, perplexity.corpus(), perplexity.accuracy(),
                  static_cast<long long>(trained.steps));
    csv += std::string(method) + "," + model + line;
  };
  const PrivatelyTrained not_private = {.promise = {std::numeric_limits<double>::infinity(), 0}};
  add("none", not_private, result.levels.fine_tuned.front());
  for (const PrivateModelRow& row : result.private_models) {
    add("dp-sgd", row.trained, row.perplexity);
  }
  return csv;
}

std::vector<std::pair<std::string, PerplexityRuns>> LevelsOf(const Baselines& baselines) {
  std::vector<std::pair<std::string, PerplexityRuns>> levels = {
      {kPublicLevel, baselines.public_model},
      {kSingleLevel, baselines.single},
      {kEnsembleLevel, baselines.ensemble}};
  if (!baselines.fine_tuned.empty()) {
    levels.emplace_back(kFineTunedLevel, baselines.fine_tuned.front());
  }
  return levels;
}

std::string ExperimentJson(const Experiment& experiment, const ExperimentResult& result,
                           const Provenance& provenance) {
  nlohmann::json json = {{"name", experiment.name},
                         {"provenance", nlohmann::json(std::map<std::string, std::string>(
                                            provenance.begin(), provenance.end()))},
                         {"title", experiment.title},
                         {"levels", nlohmann::json::object()},
                         {"rows", nlohmann::json::array()},
                         {"private_models", nlohmann::json::array()},
                         {"paper", nlohmann::json::array()}};
  for (const auto& [name, perplexity] : LevelsOf(result.levels)) {
    json["levels"][name] = PerplexityJson(perplexity);
  }
  for (const ExperimentRow& row : result.rows) json["rows"].push_back(RowJson(row));
  for (const PrivateModelRow& row : result.private_models) {
    json["private_models"].push_back(PrivateModelJson(row));
  }
  for (const PaperNumber& number : experiment.paper) {
    json["paper"].push_back({{"what", number.what}, {"value", number.value}});
    if (const auto ours = OursFor(number, result)) json["paper"].back()["ours"] = *ours;
  }
  return json.dump(1) + "\n";
}

std::optional<double> OursFor(const PaperNumber& number, const ExperimentResult& result) {
  for (const auto& [name, perplexity] : LevelsOf(result.levels)) {
    if (name == number.curve) return perplexity.corpus();
  }
  for (const ExperimentRow& row : result.rows) {
    if (row.curve == number.curve && row.x == number.x) return row.result.perplexity.corpus();
  }
  for (const PrivateModelRow& row : result.private_models) {
    if (row.asked.curve == number.curve && row.asked.x.value_or(number.x) == number.x) {
      return row.perplexity.corpus();
    }
  }
  return std::nullopt;
}

}  // namespace submix::eval
