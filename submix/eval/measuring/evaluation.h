// Held-out perplexity as in the papers: every position is one token, scored under a budget. One
// pass over the models serves any number of settings. Logits are used position by position as the
// predictor gives them, so their memory does not grow with the text.
//
// This is the operator's view, outside the budget: pmfs are read without paying (contract 7).
// Publishing the numbers, or choosing options by them, is a release of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/base/digest.h"
#include "submix/base/progress_bar.h"
#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/measuring/heldout.h"
#include "submix/eval/measuring/perplexity_runs.h"
#include "submix/mechanism/mechanism_options.h"

namespace submix::eval {

// One curve's point: a mechanism under one budget.
struct EvaluationSetting {
  // target_leakage 0 = epsilon / tokens, the papers' rule; num_parts is the plan's.
  mechanism::MechanismOptions mechanism;
  double epsilon = 2;          // nats at the mechanism's order, per part and run
  std::int64_t tokens = 1024;  // positions scored under one budget (the papers' B)
  // gnmax: instead of its perplexity the lower bound that the SubMix paper prints (gnmax_bound.h).
  bool gnmax_lower_bound = false;
};

// All settings are scored on the same text: the first `runs` times the most tokens of a setting.
// A setting cuts it into as many disjoint runs of its own tokens as fit, each with a fresh budget;
// a rest shorter than a run is not scored.
struct EvaluationPlan {
  std::vector<EvaluationSetting> settings;  // at least one
  int runs = 8;                             // of the settings with the most tokens
  // Fewer tokens are more runs on the same text, but no more than this, from its beginning.
  int most_runs = 1 << 30;
  int num_parts = 0;
  int halves = 1;
  // Rows of the predictor after the members: non-private models trained on all private text.
  int num_fine_tuned = 0;
  // Of what mechanisms draw. Each setting and run has a stream of its own, so that a setting's
  // numbers depend neither on the others nor on where an interrupted evaluation went on.
  std::uint64_t seed = 0;
};

// How many positions the plan scores.
std::int64_t NumPositions(const EvaluationPlan& plan);

// Runs of so many tokens.
struct RunLengths {
  int runs = 0;
  std::vector<std::int64_t> tokens = {};
  bool operator==(const RunLengths&) const = default;
};

// The same where a text of so many positions has room for it; else fewer runs; else one of what
// there is.
RunLengths FitToText(std::int64_t positions, const RunLengths& wished);

// What needs no mechanism, on the runs of the settings with as many tokens.
struct Baselines {
  std::int64_t tokens = 0;
  PerplexityRuns public_model;
  PerplexityRuns single;    // mean over single members
  PerplexityRuns ensemble;  // non-private mean of all members
  std::vector<PerplexityRuns> fine_tuned;
};

struct SettingResult {
  EvaluationSetting setting;  // with its target leakage and parts
  PerplexityRuns perplexity;
  double epsilon_spent_max = 0;   // largest over parts and runs, nats
  double epsilon_spent_mean = 0;  // over parts and runs, nats
};

struct EvaluationResult {
  std::vector<Baselines> baselines;     // one for each number of tokens, fewest first
  std::vector<SettingResult> settings;  // as in the plan

  // Those on the positions of this setting. Requires: it is one of `settings`.
  const Baselines& BaselinesOf(const SettingResult& setting) const;
};

// Where finished runs are kept, so that an interrupted evaluation goes on after them, with the same
// result, bit for bit, as one that was never interrupted.
struct EvaluationCheckpoint {
  std::string path;             // empty: nowhere
  base::Sha256Digest models{};  // of what decides the predictor's logits
};

// Errors: kInvalidArgument if the text has fewer than NumPositions, the predictor does not have
// num_parts * halves + num_fine_tuned members, or a setting is out of range; those of
// FinishedRuns::Open (finished_runs.h) if the checkpoint is not of this predictor, text and plan.
// After any other error the checkpoint holds every run that ended.
base::StatusOr<EvaluationResult> Evaluate(ensemble::Predictor& predictor, const HeldoutText& text,
                                          const EvaluationPlan& plan, base::ProgressBar& progress,
                                          const EvaluationCheckpoint& checkpoint = {});

}  // namespace submix::eval
