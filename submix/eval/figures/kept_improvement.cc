#include "submix/eval/figures/kept_improvement.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "submix/divergence/renyi_order.h"
#include "submix/eval/measuring/user_budget.h"

namespace submix::eval {
namespace {

using divergence::RenyiOrder;

class KeptImprovement {
 public:
  explicit KeptImprovement(const CurveMaker& make) : make_(make) {
    experiment_.title = "Share of the non-private improvement kept, epsilon = 2";
    experiment_.x_label = "parts k";
    experiment_.reference = make.Shape(32, 1);
    experiment_.runs = make.Runs(5);
    experiment_.most_runs = 20;
    experiment_.draws_kept = true;
  }

  Experiment Make() && {
    for (const std::int64_t queries : {1024, 10240}) {
      for (const char* name : {"filtered-submix", "dclip", "filtered-dclip", "screened"}) {
        AddParts(name, queries, kEnsembles);
      }
      // For comparison, at two sizes: noise that no k makes small, and research.
      for (const char* name : {"pmixed", "sample-and-aggregate", "gnmax", "dp-decoding"}) {
        AddParts(name, queries, {8, 64});
      }
      AddPairs(queries);
      for (const char* name : {"filtered-submix", "dclip"}) {
        AddUsers(name, queries, {.epsilon = 2, .order = RenyiOrder::Create(2).value(), .delta = 0},
                 "2");
        AddUsers(name, queries, {.epsilon = 2, .order = RenyiOrder::Create(8).value(), .delta = 0},
                 "8");
        AddUsers(name, queries,
                 {.epsilon = 8, .order = RenyiOrder::Create(2).value(), .delta = 1e-5},
                 "delta=1e-05");
      }
    }
    experiment_.reading =
        "Non-private: one model on all private text, by the recipe without privacy below. The "
        "SubMix paper keeps 10.6 of 17.5, .61, at B = 1,024 with k = 8 pairs, by charges that hold "
        "for its data "
        "alone.";
    experiment_.paper = {{"SubMix, k = 8, B = 1,024: kept .61 of the improvement; perplexity", 26.9,
                          "submix, B = " + std::to_string(make_.Queries(1024)), 8}};
    return std::move(experiment_);
  }

 private:
  static inline const std::vector<int> kEnsembles = {4, 8, 16, 32, 64};

  ExperimentCurve Curve(const std::string& name, const std::string& what,
                        std::int64_t queries) const {
    ExperimentCurve curve;
    curve.name = name + what + ", B = " + std::to_string(make_.Queries(queries));
    return curve;
  }

  void AddParts(const std::string& name, std::int64_t queries, const std::vector<int>& sizes) {
    for (const int k : sizes) {
      if (!make_.Has(k)) continue;
      ExperimentCurve curve = Curve(name, ", k = " + std::to_string(k), queries);
      curve.ensemble = make_.Shape(k, 1);
      curve.points.push_back(
          {static_cast<double>(k), Asked(name, 2, 2, make_.Queries(queries)), {}});
      experiment_.curves.push_back(std::move(curve));
    }
  }

  void AddPairs(std::int64_t queries) {
    ExperimentCurve curve = Curve("submix", "", queries);
    curve.ensemble = make_.Shape(8, 2);
    curve.points.push_back({8, Asked("submix", 2, 2, make_.Queries(queries)), {}});
    experiment_.curves.push_back(std::move(curve));
  }

  void AddUsers(const std::string& name, std::int64_t queries, const UserPromise& promise,
                const std::string& order) {
    for (const int k : kEnsembles) {
      if (!make_.Has(k)) continue;
      EvaluationSetting asked = Asked(name, 2, promise.epsilon, make_.Queries(queries));
      asked.mechanism.num_parts = k;
      const auto kept = KeepUserPromise(asked, promise);
      if (!kept.ok()) continue;
      ExperimentCurve curve =
          Curve(name, ", users, order " + order + ", k = " + std::to_string(k), queries);
      curve.ensemble = make_.Shape(k, 1);
      curve.points.push_back(
          {static_cast<double>(k), *kept, StatedPromise{"user", order, promise.epsilon}});
      experiment_.curves.push_back(std::move(curve));
    }
  }

  const CurveMaker& make_;
  Experiment experiment_;
};
}  // namespace

Experiment MakeKeptImprovement(const CurveMaker& make) { return KeptImprovement(make).Make(); }

}  // namespace submix::eval
