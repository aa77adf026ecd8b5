// What `submix evaluate` found: a table for people, JSON and CSV for machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/eval/measuring/evaluation.h"
#include "submix/eval/measuring/user_budget.h"

namespace submix::apps {

struct EvaluationSheet {
  eval::EvaluationResult result;
  // One a setting of the result: what its declared budget promises to a user; none: it is the
  // promise, to a part.
  std::vector<std::optional<eval::UserPromise>> promises;
};

void PrintEvaluationJson(const EvaluationSheet& sheet);
void PrintEvaluationTable(const EvaluationSheet& sheet);
// A line each for the baselines and the settings. order, epsilon, delta and unit are the promise;
// spent_max and target_leakage are nats of a part at declared_order, of declared_epsilon. Errors:
// those of writing.
base::Status WriteEvaluationCsv(const std::string& path, const EvaluationSheet& sheet);

}  // namespace submix::apps
