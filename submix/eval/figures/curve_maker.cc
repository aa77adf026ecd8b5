#include "submix/eval/figures/curve_maker.h"

#include <algorithm>

#include "submix/divergence/renyi_order.h"

namespace submix::eval {
namespace {

// Chosen once, on blogs of users whom no figure scores (docs/results/README.md). The sound
// mechanisms' guarantees do not depend on them.
constexpr double kMaxMixingWeight = 0.7;
constexpr mechanism::ClipOptions kClip = {.stretch = 1.5, .centre = 0.5};

ExperimentCurve Named(const std::string& name, EnsembleShape shape) {
  ExperimentCurve curve;
  curve.name = name;
  curve.ensemble = shape;
  return curve;
}

}  // namespace

EvaluationSetting Asked(const std::string& mechanism, double order, double epsilon,
                        std::int64_t queries) {
  EvaluationSetting setting;
  setting.mechanism.name = mechanism;
  setting.mechanism.order = divergence::RenyiOrder::Create(order).value();
  setting.epsilon = epsilon;
  setting.queries = queries;
  setting.mechanism.max_mixing_weight = kMaxMixingWeight;
  setting.mechanism.clip = kClip;
  return setting;
}

std::int64_t CurveMaker::Queries(std::int64_t queries) const {
  return std::clamp<std::int64_t>(queries / size_.divide_queries, 4, size_.most_queries);
}

EnsembleShape CurveMaker::Shape(int parts, int halves) const {
  return {std::min(parts, size_.most_parts), halves};
}

std::vector<double> CurveMaker::Values(const std::vector<double>& values) const {
  std::vector<double> kept;
  for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(size_.every_nth)) {
    kept.push_back(values[i]);
  }
  return kept;
}

ExperimentCurve CurveMaker::Over(const std::vector<double>& values, const std::string& name,
                                 EnsembleShape shape,
                                 const std::function<EvaluationSetting(double)>& setting) const {
  ExperimentCurve curve = Named(name, shape);
  for (const double value : Values(values)) curve.points.push_back({value, setting(value), {}});
  return curve;
}

ExperimentCurve CurveMaker::OverQueries(
    const std::vector<double>& values, const std::string& name, EnsembleShape shape,
    const std::function<EvaluationSetting(std::int64_t)>& setting) const {
  ExperimentCurve curve = Named(name, shape);
  for (const double value : Values(values)) {
    const std::int64_t queries = Queries(static_cast<std::int64_t>(value));
    if (!curve.points.empty() && curve.points.back().setting.queries == queries) continue;
    curve.points.push_back({static_cast<double>(queries), setting(queries), {}});
  }
  return curve;
}

}  // namespace submix::eval
