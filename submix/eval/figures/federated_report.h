// Figures and tables of McMahan et al. 2018 as pages: the trainings behind each, for machines and
// for readers. Internal to eval: it shows the type of a JSON library.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/base/status.h"
#include "submix/eval/figures/federated_figures.h"
#include "submix/eval/pages/figure.h"

namespace submix::eval {

// "S = 10, noise 0.006": as people read it.
std::string ClippingAndNoise(const FederatedSetting& setting);

// The smoothed accuracy, in percent, after so many rounds: of the last evaluation not later, else
// of the first.
double PercentAt(const FederatedRun& run, double round = std::numeric_limits<double>::infinity());

// What a run promises, in a line: nothing and why, or its epsilon with unit and delta.
std::string PromiseOf(const FederatedSetting& setting, const FederatedRun& run);

// A training by the name that a figure or table gives it.
struct NamedTraining {
  std::string name = {};
  FederatedSetting setting;
};
using NamedTrainings = std::vector<NamedTraining>;

using FederatedRuns = std::map<FederatedSetting, FederatedRun>;

// Trains each setting once.
base::StatusOr<FederatedRuns> TrainAll(const NamedTrainings& trainings,
                                       const FederatedModelSource& source);

// Null where there is no number: JSON has no infinity.
nlohmann::ordered_json JsonNumber(double value);

// What a figure or table has beside its trainings.
struct Findings {
  std::string reading = {};
  std::string key = {};  // of `json`
  nlohmann::ordered_json json = {};
  std::string html = {};
};

// The page, and trainings.csv, a line an evaluation: training,clip_norm,noise,round,accuracy_top1,
// accuracy_top1_smoothed,perplexity,promise. Without trainings neither they nor the file.
FigurePage PageOf(const Figure& figure, const Findings& findings, const NamedTrainings& trainings,
                  const FederatedRuns& runs);

// What rounds cost for simulated populations, beside the 42 numbers that the paper prints. Nothing
// is trained.
base::StatusOr<FigurePage> FederatedTable1(const std::string& name, const FederatedSize&,
                                           const FederatedModelSource&);

// Accuracy by simulated noise, epsilon by the accountant for the paper's populations; then what
// was really trained privately, with its own epsilon, also as private_training.csv:
// method,model,unit,epsilon,delta,perplexity,accuracy_top1,rounds.
base::StatusOr<FigurePage> FederatedTable2(const std::string& name, const FederatedSize& size,
                                           const FederatedModelSource& source);

// How far models keep to the most common words, also as head_words.csv.
base::StatusOr<FigurePage> FederatedTable3(const std::string& name, const FederatedSize& size,
                                           const FederatedModelSource& source);

}  // namespace submix::eval
