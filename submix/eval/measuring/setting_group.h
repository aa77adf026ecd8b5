// The settings of an evaluation that have as many tokens: they have the same runs, and the same
// baselines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/base/worker_team.h"
#include "submix/eval/measuring/evaluation.h"
#include "submix/eval/measuring/position_scorer.h"
#include "submix/eval/measuring/simulated_deployment.h"

namespace submix::eval {

// Over everything that a setting's answers depend on besides models, text and draws.
std::string SettingDigest(const EvaluationSetting& setting);

// One thread at a time. The plan and the team outlive it.
class SettingGroup {
 public:
  SettingGroup(const EvaluationPlan& plan, std::int64_t tokens,
               const std::vector<EvaluationSetting>& settings, base::WorkerTeam* team);

  // The first position after the finished runs; NumPositions if none is left to score.
  std::int64_t next_run_begin() const {
    return runs_done_ < num_runs_ ? runs_done_ * tokens_ : NumPositions(plan_);
  }

  // The values of the run that ends here, if one does. Positions come one after the other, the
  // first of them next_run_begin().
  base::StatusOr<std::optional<std::vector<double>>> Score(const ScoredPosition& position);

  // Takes the values of the next run into the result. False if they are not those of a run.
  bool AddRun(const std::vector<double>& values);

  const Baselines& baselines() const { return baselines_; }
  const std::vector<SettingResult>& results() const { return results_; }

 private:
  base::Status StartRun(std::size_t num_losses);

  // Every setting has a deployment and draws of its own: which thread answers, and when, changes
  // nothing. Those that took longest before come first, so that no thread waits for one of them.
  base::Status AnswerBySettings(const ScoredPosition& position);

  base::Status AnswerBySetting(std::size_t i, const ScoredPosition& position);

  // Both perplexities, the accuracy and the mean probability of the public model, the ensemble, a
  // single member (the mean over members) and the fine-tuned models; then of every setting those,
  // and the most and the mean that a part spent; then of every user his number, positions and nats
  // under each of ByUser.
  base::StatusOr<std::vector<double>> RunValues() const;

  // The order in which a run's values have them.
  std::vector<PerplexityRuns*> ByUser();

  void AddUserValues(std::vector<double>& values) const;

  static void AddMean(std::span<const RunLosses> members, std::vector<double>& values);

  const EvaluationPlan& plan_;
  base::WorkerTeam* const team_;
  const std::int64_t tokens_;
  const std::int64_t num_runs_;
  Baselines baselines_;
  std::vector<SettingResult> results_;
  std::vector<double> seconds_;             // [settings]: spent on each so far
  std::vector<std::size_t> slowest_first_;  // settings
  std::int64_t positions_ = 0;
  std::int64_t runs_done_ = 0;

  // Of the run that is being scored.
  std::int64_t tokens_in_run_ = 0;
  std::vector<RunLosses> losses_;                    // as ScoredPosition::scores
  std::vector<RunLosses> setting_losses_;            // [settings]
  std::vector<SimulatedDeployment> simulated_;       // [settings]
  std::vector<std::optional<double>> noise_scales_;  // [settings]; none: the exact law
};

}  // namespace submix::eval
