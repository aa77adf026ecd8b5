#include "submix/eval/measuring/setting_group.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "submix/base/digest.h"
#include "submix/base/repeatable_random.h"
#include "submix/engine/deployment.h"
#include "submix/eval/measuring/gnmax_bound.h"
#include "submix/mechanism/baselines/gnmax.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::eval {
namespace {

using base::Sha256Digest;
using base::Status;
using base::StatusOr;

constexpr std::int64_t kAnswersBetweenSorts = 64;

Sha256Digest DrawsKey(std::uint64_t seed, const EvaluationSetting& setting, std::int64_t run) {
  return base::Sha256("submix evaluation draws\n" + std::to_string(seed) + " " +
                      std::to_string(run) + " " + SettingDigest(setting));
}

}  // namespace

std::string SettingDigest(const EvaluationSetting& setting) {
  engine::DeploymentConfig config;
  config.options.mechanism = setting.mechanism;
  config.options.epsilon = setting.epsilon;
  return base::ToHex(engine::DeploymentFingerprint(config)) + " " + std::to_string(setting.tokens) +
         (setting.gnmax_lower_bound ? " lower bound" : "");
}

SettingGroup::SettingGroup(const EvaluationPlan& plan, std::int64_t tokens,
                           const std::vector<EvaluationSetting>& settings, base::WorkerTeam* team)
    : plan_(plan),
      team_(team),
      tokens_(tokens),
      num_runs_(std::min<std::int64_t>(NumPositions(plan) / tokens,
                                       std::max(plan.runs, plan.most_runs))) {
  baselines_.tokens = tokens;
  baselines_.fine_tuned.resize(static_cast<std::size_t>(plan.num_fine_tuned));
  for (const EvaluationSetting& setting : settings) results_.emplace_back().setting = setting;
  seconds_.resize(settings.size());
  slowest_first_.resize(settings.size());
  std::iota(slowest_first_.begin(), slowest_first_.end(), 0);
}

StatusOr<std::optional<std::vector<double>>> SettingGroup::Score(const ScoredPosition& position) {
  if (tokens_in_run_ == 0) SUBMIX_RETURN_IF_ERROR(StartRun(position.scores.size()));
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    losses_[i].Add(position.scores[i], position.user);
  }
  SUBMIX_RETURN_IF_ERROR(AnswerBySettings(position));
  if (++tokens_in_run_ < tokens_) return std::optional<std::vector<double>>();
  tokens_in_run_ = 0;
  SUBMIX_ASSIGN_OR_RETURN(auto values, RunValues());
  return std::optional(std::move(values));
}

bool SettingGroup::AddRun(const std::vector<double>& values) {
  const std::size_t fine_tuned = baselines_.fine_tuned.size();
  const std::size_t without_users = 4 * (3 + fine_tuned) + 6 * results_.size();
  const std::size_t of_a_user = 2 + ByUser().size();
  if (values.size() <= without_users || (values.size() - without_users) % of_a_user != 0 ||
      runs_done_ == num_runs_) {
    return false;
  }
  auto value = values.begin();
  const auto take = [&value](PerplexityRuns& perplexity) {
    perplexity.runs.push_back(*value++);
    perplexity.block_runs.push_back(*value++);
    perplexity.accuracy_runs.push_back(*value++);
    perplexity.probability_runs.push_back(*value++);
  };
  take(baselines_.public_model);
  take(baselines_.ensemble);
  take(baselines_.single);
  for (PerplexityRuns& model : baselines_.fine_tuned) take(model);
  for (SettingResult& result : results_) {
    take(result.perplexity);
    result.epsilon_spent_max = std::max(result.epsilon_spent_max, *value++);
    result.epsilon_spent_mean += *value++ / static_cast<double>(num_runs_);
  }
  while (value != values.end()) {
    UserLoss loss = {.user = static_cast<int>(*value++)};
    loss.positions = static_cast<std::int64_t>(*value++);
    for (PerplexityRuns* perplexity : ByUser()) {
      loss.nats = *value++;
      AddUserLoss(loss, perplexity->users);
    }
  }
  ++runs_done_;
  return true;
}

Status SettingGroup::StartRun(std::size_t num_losses) {
  losses_.assign(num_losses, {});
  setting_losses_.assign(results_.size(), {});
  simulated_.clear();
  noise_scales_.clear();
  for (const SettingResult& result : results_) {
    const EvaluationSetting& setting = result.setting;
    SUBMIX_ASSIGN_OR_RETURN(auto mechanism, mechanism::MakeAnyMechanism(setting.mechanism));
    SUBMIX_ASSIGN_OR_RETURN(
        simulated_.emplace_back(),
        SimulatedDeployment::Create(
            {std::move(mechanism), setting.mechanism.num_parts, setting.epsilon, plan_.halves},
            base::MakeRepeatableRandomSource(DrawsKey(plan_.seed, setting, runs_done_))));
    std::optional<double>& noise_scale = noise_scales_.emplace_back();
    if (!setting.gnmax_lower_bound) continue;
    SUBMIX_ASSIGN_OR_RETURN(noise_scale, mechanism::GnmaxNoiseScale(setting.mechanism));
  }
  return base::OkStatus();
}

Status SettingGroup::AnswerBySettings(const ScoredPosition& position) {
  if (positions_++ % kAnswersBetweenSorts == 0) {
    std::ranges::sort(slowest_first_, std::ranges::greater(),
                      [this](std::size_t i) { return seconds_[i]; });
  }
  std::vector<Status> statuses(simulated_.size());
  std::atomic<std::size_t> next = 0;
  team_->Run([&](int) {
    for (std::size_t n = next++; n < slowest_first_.size(); n = next++) {
      const std::size_t i = slowest_first_[n];
      const auto start = std::chrono::steady_clock::now();
      statuses[i] = AnswerBySetting(i, position);
      seconds_[i] +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
  });
  for (const Status& status : statuses) SUBMIX_RETURN_IF_ERROR(status);
  return base::OkStatus();
}

Status SettingGroup::AnswerBySetting(std::size_t i, const ScoredPosition& position) {
  SUBMIX_ASSIGN_OR_RETURN(TokenScore score,
                          simulated_[i].Answer(position.predictions, position.true_index));
  if (noise_scales_[i]) {
    score.nats = -std::log(
        GnmaxProbabilityBound(position.predictions, position.true_index, *noise_scales_[i]));
  }
  setting_losses_[i].Add(score, position.user);
  return base::OkStatus();
}

StatusOr<std::vector<double>> SettingGroup::RunValues() const {
  std::vector<double> values;
  const auto add = [&values](const RunLosses& losses) {
    values.push_back(losses.Perplexity());
    values.push_back(losses.BlockPerplexity());
    values.push_back(losses.Accuracy());
    values.push_back(losses.MeanProbability());
  };
  add(losses_[0]);
  add(losses_[1]);
  const std::size_t first_member = 2 + baselines_.fine_tuned.size();
  AddMean(std::span(losses_).subspan(first_member), values);
  for (std::size_t i = 2; i < first_member; ++i) add(losses_[i]);
  for (std::size_t i = 0; i < simulated_.size(); ++i) {
    SUBMIX_ASSIGN_OR_RETURN(const std::vector<double> spent, simulated_[i].SpentNats());
    add(setting_losses_[i]);
    values.push_back(*std::max_element(spent.begin(), spent.end()));
    values.push_back(std::accumulate(spent.begin(), spent.end(), 0.0) /
                     static_cast<double>(spent.size()));
  }
  AddUserValues(values);
  return values;
}

std::vector<PerplexityRuns*> SettingGroup::ByUser() {
  std::vector<PerplexityRuns*> by_user = {&baselines_.public_model, &baselines_.ensemble};
  for (PerplexityRuns& model : baselines_.fine_tuned) by_user.push_back(&model);
  for (SettingResult& result : results_) by_user.push_back(&result.perplexity);
  return by_user;
}

void SettingGroup::AddUserValues(std::vector<double>& values) const {
  const std::size_t first_member = 2 + baselines_.fine_tuned.size();
  for (std::size_t user = 0; user < losses_[0].users().size(); ++user) {
    values.push_back(losses_[0].users()[user].user);
    values.push_back(static_cast<double>(losses_[0].users()[user].positions));
    const auto add = [&](const RunLosses& losses) { values.push_back(losses.users()[user].nats); };
    std::for_each_n(losses_.begin(), first_member, add);
    std::ranges::for_each(setting_losses_, add);
  }
}

void SettingGroup::AddMean(std::span<const RunLosses> members, std::vector<double>& values) {
  const auto add = [&](double (RunLosses::*value)() const) {
    double mean = 0;
    for (const RunLosses& member : members) {
      mean += (member.*value)() / static_cast<double>(members.size());
    }
    values.push_back(mean);
  };
  add(&RunLosses::Perplexity);
  add(&RunLosses::BlockPerplexity);
  add(&RunLosses::Accuracy);
  add(&RunLosses::MeanProbability);
}

}  // namespace submix::eval
