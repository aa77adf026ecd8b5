// Held-out perplexity as in the papers: every position is one query, answered under a budget. One
// pass over the models serves any number of settings.
//
// This is the operator's view, outside the budget: pmfs are read without paying (contract 7).
// Publishing the numbers, or choosing options by them, is a release of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/base/progress_bar.h"
#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/heldout.h"
#include "submix/mechanism/mechanism_options.h"

namespace submix::eval {

// One curve's point: a mechanism under one budget.
struct EvaluationSetting {
  // target_leakage 0 = epsilon / queries, the papers' rule; num_parts is the plan's.
  mechanism::MechanismOptions mechanism;
  double epsilon = 2;  // nats at the mechanism's order, per part and run
};

struct EvaluationPlan {
  std::vector<EvaluationSetting> settings;
  std::int64_t queries = 1024;  // positions scored under one budget
  int runs = 8;                 // disjoint stretches of held-out text, each with a fresh budget
  int num_parts = 0;
  int halves = 1;
  // Rows of the predictor after the members: non-private models trained on all private text.
  int num_fine_tuned = 0;
};

// Perplexities of one model or mechanism, one value a run.
struct PerplexityRuns {
  std::vector<double> runs;
  double mean() const;
};

struct SettingResult {
  EvaluationSetting setting;
  PerplexityRuns perplexity;
  double epsilon_spent_max = 0;   // largest over parts and runs, nats
  double epsilon_spent_mean = 0;  // over parts and runs, nats
};

struct EvaluationResult {
  PerplexityRuns public_model;
  PerplexityRuns single;    // mean over single members
  PerplexityRuns ensemble;  // non-private mean of all members
  std::vector<PerplexityRuns> fine_tuned;
  std::vector<SettingResult> settings;
};

// (public − private) / (public − fine_tuned): the part of the gain of non-private training that
// remains, with a jackknife interval over runs (plus or minus two standard errors).
struct KeptShare {
  double value = 0;
  double low = 0;
  double high = 0;
};
KeptShare Kept(const PerplexityRuns& public_model, const PerplexityRuns& private_mechanism,
               const PerplexityRuns& fine_tuned);

// Errors: kInvalidArgument if the text has fewer than queries * runs positions, the predictor does
// not have num_parts * halves + num_fine_tuned members, or a setting is out of range.
base::StatusOr<EvaluationResult> Evaluate(ensemble::Predictor& predictor,
                                          const HeldoutBlocks& blocks, const EvaluationPlan& plan,
                                          base::ProgressBar& progress);

}  // namespace submix::eval
