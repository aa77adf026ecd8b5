#include "submix/eval/measuring/evaluation.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <span>

#include "submix/accounting/fixed_nats.h"
#include "submix/base/check.h"
#include "submix/base/processors.h"
#include "submix/base/repeatable_random.h"
#include "submix/base/worker_team.h"
#include "submix/engine/deployment.h"
#include "submix/eval/measuring/finished_runs.h"
#include "submix/eval/measuring/gnmax_bound.h"
#include "submix/eval/measuring/position_scorer.h"
#include "submix/eval/measuring/simulated_deployment.h"
#include "submix/mechanism/baselines/gnmax.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::eval {
namespace {

using base::Sha256Digest;
using base::Status;
using base::StatusOr;

// The settings as they are answered: nothing is left to a default.
std::vector<EvaluationSetting> CompleteSettings(const EvaluationPlan& plan) {
  std::vector<EvaluationSetting> settings = plan.settings;
  for (EvaluationSetting& setting : settings) {
    setting.mechanism.num_parts = plan.num_parts;
    if (!(setting.mechanism.target_leakage > 0)) {
      setting.mechanism.target_leakage = setting.epsilon / static_cast<double>(setting.tokens);
    }
  }
  return settings;
}

// Over everything that a setting's answers depend on besides models, text and draws.
std::string SettingDigest(const EvaluationSetting& setting) {
  engine::DeploymentConfig config;
  config.options.mechanism = setting.mechanism;
  config.options.epsilon = setting.epsilon;
  return base::ToHex(engine::DeploymentFingerprint(config)) + " " + std::to_string(setting.tokens) +
         (setting.gnmax_lower_bound ? " lower bound" : "");
}

Sha256Digest DrawsKey(std::uint64_t seed, const EvaluationSetting& setting, std::int64_t run) {
  return base::Sha256("submix evaluation draws\n" + std::to_string(seed) + " " +
                      std::to_string(run) + " " + SettingDigest(setting));
}

Sha256Digest TextDigest(const HeldoutText& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.blocks.size(); ++i) {
    const std::vector<corpus::StreamToken>& block = text.blocks[i];
    bytes += std::to_string(block.size()) + " " + base::ToHex(base::Sha256(text.users[i])) + "\n";
    bytes.append(reinterpret_cast<const char*>(block.data()), block.size() * sizeof block[0]);
  }
  return base::Sha256(bytes);
}

Sha256Digest PlanDigest(const EvaluationPlan& plan) {
  std::string text;
  for (const int number :
       {plan.runs, plan.most_runs, plan.num_parts, plan.halves, plan.num_fine_tuned}) {
    text += std::to_string(number) + "\n";
  }
  text += std::to_string(plan.seed) + "\n";
  for (const auto& setting : CompleteSettings(plan)) text += SettingDigest(setting) + "\n";
  return base::Sha256(text);
}

constexpr std::int64_t kAnswersBetweenSorts = 64;

// The settings of one number of tokens: they have the same runs, and the same baselines.
class SettingGroup {
 public:
  SettingGroup(const EvaluationPlan& plan, std::int64_t tokens,
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

  // The first position after the finished runs; NumPositions if none is left to score.
  std::int64_t next_run_begin() const {
    return runs_done_ < num_runs_ ? runs_done_ * tokens_ : NumPositions(plan_);
  }

  // The values of the run that ends here, if one does. Positions come one after the other, the
  // first of them next_run_begin().
  StatusOr<std::optional<std::vector<double>>> Score(const ScoredPosition& position) {
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

  // Takes the values of the next run into the result. False if they are not those of a run.
  bool AddRun(const std::vector<double>& values) {
    const std::size_t fine_tuned = baselines_.fine_tuned.size();
    const std::size_t without_users = 3 * (3 + fine_tuned) + 5 * results_.size();
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

  const Baselines& baselines() const { return baselines_; }
  const std::vector<SettingResult>& results() const { return results_; }

 private:
  Status StartRun(std::size_t num_losses) {
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

  // Every setting has a deployment and draws of its own: which thread answers, and when, changes
  // nothing. Those that took longest before come first, so that no thread waits for one of them.
  Status AnswerBySettings(const ScoredPosition& position) {
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

  Status AnswerBySetting(std::size_t i, const ScoredPosition& position) {
    SUBMIX_ASSIGN_OR_RETURN(TokenScore score,
                            simulated_[i].Answer(position.predictions, position.true_index));
    if (noise_scales_[i]) {
      score.nats = -std::log(
          GnmaxProbabilityBound(position.predictions, position.true_index, *noise_scales_[i]));
    }
    setting_losses_[i].Add(score, position.user);
    return base::OkStatus();
  }

  // Both perplexities and the accuracy of the public model, the ensemble, a single member (the mean
  // over members) and the fine-tuned models; then of every setting those, and the most and the mean
  // that a part spent; then of every user his number, positions and nats under each of ByUser.
  StatusOr<std::vector<double>> RunValues() const {
    std::vector<double> values;
    const auto add = [&values](const RunLosses& losses) {
      values.push_back(losses.Perplexity());
      values.push_back(losses.BlockPerplexity());
      values.push_back(losses.Accuracy());
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

  // The order in which a run's values have them.
  std::vector<PerplexityRuns*> ByUser() {
    std::vector<PerplexityRuns*> by_user = {&baselines_.public_model, &baselines_.ensemble};
    for (PerplexityRuns& model : baselines_.fine_tuned) by_user.push_back(&model);
    for (SettingResult& result : results_) by_user.push_back(&result.perplexity);
    return by_user;
  }

  void AddUserValues(std::vector<double>& values) const {
    const std::size_t first_member = 2 + baselines_.fine_tuned.size();
    for (std::size_t user = 0; user < losses_[0].users().size(); ++user) {
      values.push_back(losses_[0].users()[user].user);
      values.push_back(static_cast<double>(losses_[0].users()[user].positions));
      const auto add = [&](const RunLosses& losses) {
        values.push_back(losses.users()[user].nats);
      };
      std::for_each_n(losses_.begin(), first_member, add);
      std::ranges::for_each(setting_losses_, add);
    }
  }

  static void AddMean(std::span<const RunLosses> members, std::vector<double>& values) {
    double perplexity = 0;
    double block_perplexity = 0;
    double accuracy = 0;
    for (const RunLosses& member : members) {
      perplexity += member.Perplexity() / static_cast<double>(members.size());
      block_perplexity += member.BlockPerplexity() / static_cast<double>(members.size());
      accuracy += member.Accuracy() / static_cast<double>(members.size());
    }
    values.push_back(perplexity);
    values.push_back(block_perplexity);
    values.push_back(accuracy);
  }

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

// All groups of a plan, fed by one pass.
class Evaluation {
 public:
  // `kept` may be null.
  Evaluation(const EvaluationPlan& plan, FinishedRuns* kept)
      : scorer_(plan), kept_(kept), team_(base::AvailableProcessors()) {
    std::map<std::int64_t, std::vector<EvaluationSetting>> by_tokens;
    for (auto& setting : CompleteSettings(plan)) by_tokens[setting.tokens].push_back(setting);
    for (const auto& [tokens, settings] : by_tokens) {
      groups_.emplace_back(plan, tokens, settings, &team_);
    }
  }

  // False if there are runs that the plan does not have.
  bool TakeKeptRuns() {
    for (const FinishedRun& run : kept_->runs()) {
      if (run.group < 0 || run.group >= std::ssize(groups_)) return false;
      if (!groups_[static_cast<std::size_t>(run.group)].AddRun(run.values)) return false;
    }
    return true;
  }

  // The first position that is still to be scored.
  std::int64_t begin() const {
    std::int64_t begin = groups_.front().next_run_begin();
    for (const SettingGroup& group : groups_) begin = std::min(begin, group.next_run_begin());
    return begin;
  }

  // Positions come one after the other, the first of them begin().
  Status Score(std::int64_t position, base::TokenId true_token, int user,
               std::span<const float> logits) {
    SUBMIX_ASSIGN_OR_RETURN(const ScoredPosition* scored, scorer_.Score(true_token, user, logits));
    for (int g = 0; g < std::ssize(groups_); ++g) {
      SettingGroup& group = groups_[static_cast<std::size_t>(g)];
      if (position < group.next_run_begin()) continue;
      SUBMIX_ASSIGN_OR_RETURN(auto values, group.Score(*scored));
      if (!values) continue;
      SUBMIX_CHECK(group.AddRun(*values), "a run of the group's own");
      if (kept_ != nullptr) SUBMIX_RETURN_IF_ERROR(kept_->Add({g, std::move(*values)}));
    }
    return base::OkStatus();
  }

  EvaluationResult Result(const EvaluationPlan& plan) const {
    EvaluationResult result;
    std::map<std::int64_t, std::vector<SettingResult>::const_iterator> next;
    for (const SettingGroup& group : groups_) {
      result.baselines.push_back(group.baselines());
      next.emplace(group.baselines().tokens, group.results().begin());
    }
    for (const auto& setting : plan.settings) {
      result.settings.push_back(*next.at(setting.tokens)++);
    }
    return result;
  }

 private:
  PositionScorer scorer_;
  FinishedRuns* const kept_;
  base::WorkerTeam team_;
  std::vector<SettingGroup> groups_;  // fewest tokens first
};

std::int64_t MostTokens(const EvaluationPlan& plan) {
  std::int64_t most = 0;
  for (const EvaluationSetting& setting : plan.settings) most = std::max(most, setting.tokens);
  return most;
}

Status CheckPlan(const ensemble::Predictor& predictor, const HeldoutBlocks& blocks,
                 const EvaluationPlan& plan) {
  const int members = plan.num_parts * plan.halves + plan.num_fine_tuned;
  if (predictor.num_members() != members) {
    return base::InvalidArgumentError("expected " + std::to_string(members) +
                                      " members, the predictor has " +
                                      std::to_string(predictor.num_members()));
  }
  if (plan.settings.empty()) return base::InvalidArgumentError("no setting to score");
  if (plan.runs < 1) return base::InvalidArgumentError("runs must be at least 1");
  for (const EvaluationSetting& setting : plan.settings) {
    if (setting.gnmax_lower_bound && setting.mechanism.name != mechanism::kGnmaxName) {
      return base::InvalidArgumentError("only gnmax has the SubMix paper's lower bound");
    }
    if (setting.tokens < 1) return base::InvalidArgumentError("tokens must be at least 1");
    if (!(setting.epsilon > 0) || !accounting::FixedNats::RoundUp(setting.epsilon).is_payable()) {
      return base::InvalidArgumentError("epsilon: expected nats above 0 and below 8192, found " +
                                        std::to_string(setting.epsilon));
    }
  }
  const std::int64_t needed = NumPositions(plan);
  if (const std::int64_t found = CountScoredTokens(blocks); found < needed) {
    return base::InvalidArgumentError(
        "the held-out text has " + std::to_string(found) + " positions, but " +
        std::to_string(plan.runs) + " runs of " + std::to_string(MostTokens(plan)) + " need " +
        std::to_string(needed) + ": use fewer --runs or --tokens, or more held-out text");
  }
  return base::OkStatus();
}

StatusOr<FinishedRuns> OpenCheckpoint(const EvaluationCheckpoint& checkpoint,
                                      const HeldoutText& text, const EvaluationPlan& plan) {
  return FinishedRuns::Open(checkpoint.path, {{"version of Submix", base::Sha256(SUBMIX_VERSION)},
                                              {"models", checkpoint.models},
                                              {"held-out text", TextDigest(text)},
                                              {"options", PlanDigest(plan)}});
}

std::vector<base::TokenId> IdsOf(const std::vector<corpus::StreamToken>& block) {
  std::vector<base::TokenId> ids;
  std::ranges::transform(block, std::back_inserter(ids), corpus::IdOf);
  return ids;
}

// Whole blocks, also where `begin` is inside one: a predictor's rounding may depend on how much of
// a block it is asked for.
Status ScoreFrom(std::int64_t begin, std::int64_t end, ensemble::Predictor& predictor,
                 const HeldoutText& text, Evaluation& evaluation, base::ProgressBar& progress) {
  std::int64_t block_begin = 0;
  int user = 0;
  for (std::size_t i = 0; i < text.blocks.size(); ++i) {
    const std::vector<corpus::StreamToken>& block = text.blocks[i];
    if (i > 0 && text.users[i] != text.users[i - 1]) ++user;
    const std::int64_t block_end = block_begin + corpus::NumCounted(block);
    if (block_end > begin && block_begin < end) {
      std::int64_t next = block_begin;
      SUBMIX_RETURN_IF_ERROR(predictor.Score(
          IdsOf(block), 1, [&](std::size_t index, std::span<const float> logits) -> Status {
            if (!corpus::IsCounted(block[index])) return base::OkStatus();
            const std::int64_t position = next++;
            if (position < begin || position >= end) return base::OkStatus();
            progress.Advance(1);
            return evaluation.Score(position, block[index], user, logits);
          }));
    }
    block_begin = block_end;
  }
  return base::OkStatus();
}

}  // namespace

std::int64_t NumPositions(const EvaluationPlan& plan) { return plan.runs * MostTokens(plan); }

RunLengths FitToText(std::int64_t positions, const RunLengths& wished) {
  RunLengths fitting = wished;
  const std::int64_t most = std::ranges::max(wished.tokens);
  if (positions < 1 || positions / most >= wished.runs) return fitting;
  fitting.runs = static_cast<int>(std::max<std::int64_t>(1, positions / most));
  std::vector<std::int64_t>& tokens = fitting.tokens;
  for (std::int64_t& length : tokens) length = std::min(length, positions);
  std::ranges::sort(tokens);
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return fitting;
}

const Baselines& EvaluationResult::BaselinesOf(const SettingResult& setting) const {
  const auto found = std::ranges::find(baselines, setting.setting.tokens, &Baselines::tokens);
  SUBMIX_CHECK(found != baselines.end(), "a setting of another evaluation");
  return *found;
}

StatusOr<EvaluationResult> Evaluate(ensemble::Predictor& predictor, const HeldoutText& text,
                                    const EvaluationPlan& plan, base::ProgressBar& progress,
                                    const EvaluationCheckpoint& checkpoint) {
  SUBMIX_RETURN_IF_ERROR(CheckPlan(predictor, text.blocks, plan));
  std::optional<FinishedRuns> kept;
  if (!checkpoint.path.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(kept, OpenCheckpoint(checkpoint, text, plan));
  }
  Evaluation evaluation(plan, kept ? &*kept : nullptr);
  if (kept && !evaluation.TakeKeptRuns()) {
    return base::DataLossError(
        checkpoint.path +
        ": the checkpoint has runs that its options do not; remove it to score from the start");
  }
  progress.SkipTo(evaluation.begin());
  Status status =
      ScoreFrom(evaluation.begin(), NumPositions(plan), predictor, text, evaluation, progress);
  if (kept) {
    const Status saved = kept->Save();
    if (status.ok()) status = saved;
  }
  SUBMIX_RETURN_IF_ERROR(status);
  return evaluation.Result(plan);
}

}  // namespace submix::eval
