#include "submix/eval/measuring/evaluation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "submix/accounting/fixed_nats.h"
#include "submix/base/check.h"
#include "submix/base/number_text.h"
#include "submix/base/processors.h"
#include "submix/base/worker_team.h"
#include "submix/eval/measuring/finished_runs.h"
#include "submix/eval/measuring/position_scorer.h"
#include "submix/eval/measuring/setting_group.h"
#include "submix/mechanism/baselines/gnmax.h"
#include "submix/mechanism/supported_logits.h"

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

Sha256Digest TextDigest(const HeldoutText& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.blocks.size(); ++i) {
    const std::vector<corpus::StreamToken>& block = text.blocks[i];
    bytes += std::to_string(block.size()) + " " + base::ToHex(base::Sha256(text.users[i])) + "\n";
    bytes.append(reinterpret_cast<const char*>(block.data()), block.size() * sizeof block[0]);
  }
  for (const std::vector<base::TokenId>& choices : text.choices) {
    for (const base::TokenId token : choices) bytes += std::to_string(token) + " ";
    bytes += "\n";
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
                                        base::NumberText(setting.epsilon));
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

std::vector<base::TokenId> IdsOf(std::span<const corpus::StreamToken> block) {
  std::vector<base::TokenId> ids;
  std::ranges::transform(block, std::back_inserter(ids), corpus::IdOf);
  return ids;
}

// A position as mechanisms see it: where the token is one of a few, these are the vocabulary.
class Question {
 public:
  Question(const HeldoutText& text, std::size_t block)
      : choices_(text.choices.empty() ? kAny : text.choices[block]) {}

  std::span<const float> Logits(std::span<const float> logits, std::size_t vocabulary) {
    if (choices_.empty()) return logits;
    mechanism::TakeColumns(logits, vocabulary, choices_, columns_);
    return columns_;
  }
  base::TokenId Token(base::TokenId token) const {
    if (choices_.empty()) return token;
    const auto found = std::ranges::lower_bound(choices_, token);
    return static_cast<base::TokenId>(found - choices_.begin());
  }

 private:
  inline static const std::vector<base::TokenId> kAny = {};

  const std::vector<base::TokenId>& choices_;
  std::vector<float> columns_;
};

// A block up to its `most`-th scored token: what follows is computed for nothing.
std::span<const corpus::StreamToken> UpTo(std::int64_t most,
                                          std::span<const corpus::StreamToken> block) {
  std::size_t size = std::min<std::size_t>(1, block.size());
  for (; size < block.size() && most > 0; ++size) {
    if (corpus::IsCounted(block[size])) --most;
  }
  return block.first(size);
}

// Blocks from their beginning, also where `begin` is inside one: a predictor's rounding may depend
// on how much of a block it is asked for.
Status ScoreFrom(std::int64_t begin, std::int64_t end, ensemble::Predictor& predictor,
                 const HeldoutText& text, Evaluation& evaluation, base::ProgressBar& progress) {
  std::int64_t block_begin = 0;
  int user = 0;
  for (std::size_t i = 0; i < text.blocks.size(); ++i) {
    if (i > 0 && text.users[i] != text.users[i - 1]) ++user;
    const auto block = UpTo(end - block_begin, text.blocks[i]);
    const std::int64_t block_end = block_begin + corpus::NumCounted(block);
    if (block_end > block_begin && block_end > begin) {
      std::int64_t next = block_begin;
      Question question(text, i);
      const auto vocabulary = static_cast<std::size_t>(predictor.vocab_size());
      const auto first = std::find_if(block.begin() + 1, block.end(), corpus::IsCounted);
      SUBMIX_RETURN_IF_ERROR(
          predictor.Score(IdsOf(block), static_cast<std::size_t>(first - block.begin()),
                          [&](std::size_t index, std::span<const float> logits) -> Status {
                            if (!corpus::IsCounted(block[index])) return base::OkStatus();
                            const std::int64_t position = next++;
                            if (position < begin) return base::OkStatus();
                            progress.Advance(1);
                            return evaluation.Score(position, question.Token(block[index]), user,
                                                    question.Logits(logits, vocabulary));
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
