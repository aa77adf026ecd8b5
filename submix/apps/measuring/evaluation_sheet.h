// What `submix evaluate` found, as people, JSON and CSV files have it. One thread at a time: all of
// them write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submix/accounting/privacy_statement.h"
#include "submix/base/status.h"
#include "submix/eval/measuring/evaluation.h"
#include "submix/mechanism/declaring/user_budget.h"

namespace submix::apps {

// What was scored, with what each setting promises to a user; none: to a part.
struct EvaluationSheet {
  eval::EvaluationResult result;
  std::vector<std::optional<mechanism::UserPromise>> promises;
  std::vector<accounting::PrivacyStatement> statements;   // of each setting's budget
  accounting::PrivacyStatement public_statement;          // of the public model's answers
  std::optional<accounting::PublicCost> public_training;  // counted in where users are promised
  bool has_labels = false;  // and of every model it counts how often it is right
  std::string scored;       // "answers only, 120 of 310 tokens"; empty: plain text, all of it
};

// A row for every model and setting: a JSON array, and a file.
std::string EvaluationRows(const EvaluationSheet& sheet);
base::Status WriteEvaluationCsv(const std::string& path, const EvaluationSheet& sheet);
// A row for every model or setting and user, of whom `users` has the names by number.
base::Status WriteUserLossesCsv(const std::string& path, const EvaluationSheet& sheet,
                                const std::vector<std::string>& users);
void PrintEvaluationJson(const EvaluationSheet& sheet);
void PrintEvaluationTable(const EvaluationSheet& sheet);

}  // namespace submix::apps
