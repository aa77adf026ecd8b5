// The trainings of a figure of McMahan et al. 2018 for machines and for readers: JSON, CSV, tables.
// Internal to eval: it shows the type of a JSON library.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/eval/figures/federated_setting.h"

namespace submix::eval {

// A training by the name that a figure or table gives it.
struct NamedTraining {
  std::string name = {};
  FederatedSetting setting;
};

// Null where there is no number: JSON has no infinity.
nlohmann::ordered_json JsonNumber(double value);
// An object each: name, every option, every evaluation, epsilon with its statement or why none.
nlohmann::ordered_json TrainingsJson(const std::vector<NamedTraining>& trainings,
                                     const FederatedRuns& runs);

// A line an evaluation: training,clip_norm,noise,round,accuracy_top1,accuracy_top1_smoothed,
// perplexity,promise.
std::string TrainingsCsv(const std::vector<NamedTraining>& trainings, const FederatedRuns& runs);

// HTML: a row a training, at its end; then the statement of every private one.
std::string TrainingsTable(const std::vector<NamedTraining>& trainings, const FederatedRuns& runs);

}  // namespace submix::eval
