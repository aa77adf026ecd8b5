#include "submix/workbench/training/canary_audit.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "submix/accounting/calculators/step_budget.h"
#include "submix/base/progress_bar.h"
#include "submix/corpus/user_tokens.h"
#include "submix/ensemble/predictor.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/eval/measuring/token_scores.h"
#include "submix/workbench/models/open_models.h"
#include "submix/workbench/scratch_directory.h"

namespace submix::workbench {
namespace {

using base::Status;
using base::StatusOr;
using corpus::StreamToken;

// Pays for any noise: what a training with a mistake books.
constexpr double kAnyEpsilon = 1000;

Status CheckRequest(const CanaryAuditRequest& request) {
  if (request.runs < 8) return base::InvalidArgumentError("runs: expected 8 or more");
  if (request.users < 1) return base::InvalidArgumentError("users: expected 1 or more");
  if (!(request.noise_share > 0 && request.noise_share <= 1)) {
    return base::InvalidArgumentError("noise share: expected above 0, at most 1");
  }
  if (request.canary_tokens >= 1 && request.canary_tokens < request.training.block_tokens) {
    return base::OkStatus();
  }
  return base::InvalidArgumentError("canary tokens: expected 1 to the block's, less one");
}

StatusOr<std::vector<train::TrainingUnit>> ReadUnits(const CanaryAuditRequest& request,
                                                     const corpus::RecordEncoder& encoder) {
  SUBMIX_ASSIGN_OR_RETURN(corpus::PartitionedCorpus corpus,
                          corpus::PartitionCorpus(request.corpus, encoder, {}, {.num_parts = 1}));
  std::vector<train::TrainingUnit> units;
  for (const corpus::UserTokens& user : corpus.members.front()) {
    if (std::ssize(units) == request.users) break;
    train::TrainingUnit unit = corpus::CutIntoBlocks({user}, request.training.block_tokens);
    if (unit.empty()) continue;
    unit.resize(1);  // trainings are many, and small
    units.push_back(std::move(unit));
  }
  if (std::ssize(units) == request.users) return units;
  return base::InvalidArgumentError(request.corpus.path + ": " + std::to_string(units.size()) +
                                    " users with text, and --users asks for " +
                                    std::to_string(request.users));
}

// Tokens that come next to be drawn, in order.
StatusOr<std::vector<base::TokenId>> DrawnFrom(const CanaryAuditRequest& request,
                                               const std::vector<train::TrainingUnit>& units,
                                               base::TokenId text_tokens) {
  std::set<base::TokenId> used;
  for (const train::TrainingUnit& unit : units) {
    for (const auto& block : unit) {
      for (const StreamToken token : block) used.insert(corpus::IdOf(token));
    }
  }
  std::vector<base::TokenId> tokens;
  for (base::TokenId token = 0; token < text_tokens; ++token) {
    if (request.kind == CanaryKind::kOddCompletion || !used.contains(token)) {
      tokens.push_back(token);
    }
  }
  if (tokens.size() >= 2) return tokens;
  return base::InvalidArgumentError(
      "the users have every token of the vocabulary: take fewer of them, or the other canary");
}

// One block, in which the canary's own tokens count.
StatusOr<std::vector<StreamToken>> MakeCanary(const CanaryAuditRequest& request,
                                              const std::vector<train::TrainingUnit>& units,
                                              base::TokenId text_tokens) {
  SUBMIX_ASSIGN_OR_RETURN(const auto tokens, DrawnFrom(request, units, text_tokens));
  const auto& others = units.front().front();
  const std::size_t room =
      static_cast<std::size_t>(request.training.block_tokens - request.canary_tokens);
  const std::size_t beginning =
      request.kind == CanaryKind::kOddCompletion ? std::min(room, others.size()) : 1;
  std::vector<StreamToken> canary;
  for (std::size_t i = 0; i < beginning; ++i) {
    canary.push_back(corpus::Uncounted(corpus::IdOf(others[i])));
  }
  const auto random = eval::RepeatableDraws(request.seed, "canary");
  for (int i = 0; i < request.canary_tokens; ++i) {
    canary.push_back(tokens[static_cast<std::size_t>(random->NextBelow(tokens.size()))]);
  }
  return canary;
}

// What the canary's own tokens lose under each row, in nats.
StatusOr<std::vector<double>> CanaryNats(ensemble::Predictor& predictor,
                                         const std::vector<StreamToken>& canary) {
  std::vector<base::TokenId> ids;
  for (const StreamToken token : canary) ids.push_back(corpus::IdOf(token));
  const auto first =
      static_cast<std::size_t>(std::ranges::find_if(canary, corpus::IsCounted) - canary.begin());
  const auto vocab = static_cast<std::size_t>(predictor.vocab_size());
  std::vector<double> nats(static_cast<std::size_t>(predictor.num_members()) + 1);
  SUBMIX_RETURN_IF_ERROR(predictor.Score(
      ids, first, [&](std::size_t position, std::span<const float> logits) -> Status {
        for (std::size_t row = 0; row < nats.size(); ++row) {
          nats[row] -= eval::LogProbability(logits.subspan(row * vocab, vocab), ids[position]);
        }
        return base::OkStatus();
      }));
  return nats;
}

// The trainings, each in a directory that goes with it.
class Trainings {
 public:
  Trainings(const CanaryAuditRequest& request, std::vector<train::TrainingUnit> units,
            std::vector<StreamToken> canary, accounting::StepBudget booked)
      : request_(request),
        units_(std::move(units)),
        canary_(std::move(canary)),
        booked_(std::move(booked)),
        options_(request.training) {
    options_.expected_batch = request.sampling_probability * static_cast<double>(request.users);
  }

  // How much likelier the canary is by a training.
  StatusOr<double> Gain(int run, bool has_canary) const {
    SUBMIX_ASSIGN_OR_RETURN(const auto directory, MakeScratchDirectory("canary", ""));
    train::DpSgdTask task;
    task.output_directory = *directory + "/model";
    task.account_directory = *directory + "/training";
    task.units = units_;
    if (has_canary) task.units.push_back({canary_});
    const auto random = eval::RepeatableDraws(request_.seed, "a training with canaries",
                                              static_cast<std::uint64_t>(run));
    SUBMIX_RETURN_IF_ERROR(train::TrainDpSgd(request_.public_directory, task, options_, booked_,
                                             *random, base::ProgressStyle::kSilent)
                               .status());
    SUBMIX_ASSIGN_OR_RETURN(const auto predictor,
                            LoadPredictor(request_.predictor, request_.public_directory,
                                          {task.output_directory}, /*vocab_size=*/0));
    SUBMIX_ASSIGN_OR_RETURN(const auto nats, CanaryNats(*predictor, canary_));
    return nats[0] - nats[1];
  }

 private:
  const CanaryAuditRequest& request_;
  const std::vector<train::TrainingUnit> units_;
  const std::vector<StreamToken> canary_;
  const accounting::StepBudget booked_;
  train::DpSgdOptions options_;
};

StatusOr<accounting::StepBudget> Booked(const CanaryAuditRequest& request,
                                        const accounting::StepBudget& claimed) {
  if (request.noise_share == 1) return claimed;
  const double noise = claimed.step().noise_multiplier * request.noise_share;
  return accounting::StepBudget::Plan({request.sampling_probability, noise},
                                      {kAnyEpsilon, request.target.delta});
}

}  // namespace

StatusOr<CanaryAudit> AuditByCanaries(const CanaryAuditRequest& request) {
  SUBMIX_RETURN_IF_ERROR(CheckRequest(request));
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer,
                          ensemble::LoadFittingTokenizer(request.public_directory));
  const corpus::RecordEncoder encoder(*tokenizer, request.public_directory, corpus::Loss::kAnswers);
  SUBMIX_ASSIGN_OR_RETURN(auto units, ReadUnits(request, encoder));
  SUBMIX_ASSIGN_OR_RETURN(auto canary,
                          MakeCanary(request, units, tokenizer->largest_text_token() + 1));
  SUBMIX_ASSIGN_OR_RETURN(const double noise,
                          accounting::NoiseForSteps(request.sampling_probability, request.target,
                                                    request.training.steps));
  SUBMIX_ASSIGN_OR_RETURN(
      const auto claimed,
      accounting::StepBudget::Plan({request.sampling_probability, noise}, request.target));
  SUBMIX_ASSIGN_OR_RETURN(const auto booked, Booked(request, claimed));
  CanaryAudit audit;
  audit.noise_multiplier = noise;
  audit.statement = claimed.Statement(accounting::PrivacyUnit::kUserKey, request.training.steps);
  audit.claimed = claimed.EpsilonAfter(request.training.steps);
  const Trainings trainings(request, std::move(units), std::move(canary), booked);
  const auto coins = eval::RepeatableDraws(request.seed, "a canary's coins");
  base::ProgressBar progress("Canaries", request.runs, "trainings");
  for (int run = 0; run < request.runs; ++run) {
    const bool has_canary = coins->NextBernoulli(1, 2);
    SUBMIX_ASSIGN_OR_RETURN(const double gain, trainings.Gain(run, has_canary));
    (has_canary ? audit.with : audit.without).push_back(gain);
    progress.Advance(1);
  }
  progress.Finish();
  return audit;
}

}  // namespace submix::workbench
