#include "submix/train/federated/federated_training.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <numeric>
#include <sstream>

#include "submix/accounting/calculators/step_budget.h"
#include "submix/base/file_system.h"
#include "submix/base/processors.h"
#include "submix/train/federated/client_updates.h"
#include "submix/train/federated/federated_checkpoint.h"
#include "submix/train/kernels/vector_norm.h"
#include "submix/train/numerics/torch_errors.h"
#include "submix/train/recipes/training_options.h"
#include "submix/train/sampled_gaussian/gaussian_noise.h"
#include "submix/train/sampled_gaussian/poisson_sampling.h"
#include "submix/train/sampled_gaussian/training_account.h"

namespace submix::train {
namespace {

using base::StatusOr;
using base::TokenId;

constexpr std::size_t kSmoothed = 5;  // evaluations
constexpr double kMostRate = 1e6;     // beyond it updates overflow, and count as zero
constexpr double kMostNats = 8191;    // more than anybody would call a promise; FixedNats holds it

// What a round is done with, after the schedule.
struct RoundSettings {
  UpdateClipping clipping;
  double noise_multiplier = 0;
};

RoundSettings SettingsOf(const FederatedOptions& options, std::int64_t round) {
  RoundSettings settings = {options.clipping, options.noise_multiplier};
  for (const ScheduleChange& change : options.schedule) {
    if (change.round > round) break;
    settings.clipping.norm = change.clip_norm;
    settings.noise_multiplier = change.noise_multiplier.value_or(settings.noise_multiplier);
  }
  return settings;
}

base::Status CheckOptions(const FederatedOptions& options, const FederatedData& data) {
  const auto refuse = [](const std::string& what) { return base::InvalidArgumentError(what); };
  const LocalTraining& local = options.local;
  const bool is_private = options.noise_multiplier > 0;
  if (!(options.noise_multiplier >= 0 && options.noise_multiplier <= 0x1p20)) {
    return refuse("noise: expected a multiplier from 0 to 2^20");
  }
  const SimulatedRounds& simulated = options.simulated;
  if (is_private && simulated != SimulatedRounds()) {
    return refuse("simulated rounds are outside every guarantee: they need noise multiplier 0");
  }
  if (!(simulated.noise_of_clip >= 0 && std::isfinite(simulated.noise_of_clip))) {
    return refuse("simulated noise: expected 0 or more, as a share of the clipping norm");
  }
  const bool is_noisy = is_private || simulated.noise_of_clip > 0;
  if (!(options.clipping.norm > 0)) return refuse("clip: expected more than 0");
  if (is_noisy && !std::isfinite(options.clipping.norm)) {
    return refuse("noise without clipping: the noise is a multiple of the clipping norm");
  }
  if (is_noisy) {
    SUBMIX_RETURN_IF_ERROR(
        CheckRange("clip", options.clipping.norm, 1 / kLongestClip, kLongestClip));
  }
  const double q = options.estimator.sampling_probability;
  if (!(q > 0 && q <= 1)) return refuse("sampling probability: expected a number in (0, 1]");
  if (!(options.estimator.weight > 0 && std::isfinite(options.estimator.weight))) {
    return refuse("population: expected more than 0 users");
  }
  if (!(options.delta > 0 && options.delta < 1))
    return refuse("delta: expected a number in (0, 1)");
  if (options.target_epsilon.has_value() && !(*options.target_epsilon > 0 && is_private)) {
    return refuse("a target epsilon is above 0 and needs noise");
  }
  SUBMIX_RETURN_IF_ERROR(
      CheckRange("learning_rate", local.learning_rate, 1 / kMostRate, kMostRate));
  if (local.epochs < 1 || local.batch_size < 1 || local.unroll < 1 || options.rounds < 1 ||
      options.evaluate_every < 1 || options.full_weight_tokens < 1 || options.threads < 0) {
    return refuse(
        "epochs, batch size, unroll, rounds, evaluations and tokens are counts from 1, threads "
        "from 0");
  }
  std::int64_t last = 0;
  for (const ScheduleChange& change : options.schedule) {
    if (!(change.round > last && change.clip_norm > 0 && std::isfinite(change.clip_norm))) {
      return refuse("schedule: expected rising rounds and clipping norms above 0");
    }
    last = change.round;
    const double noise = change.noise_multiplier.value_or(options.noise_multiplier);
    if (!(noise >= 0 && noise <= 0x1p20 && (noise > 0) == is_private)) {
      return refuse("schedule: noise is for all rounds or for none");
    }
  }
  if (q * static_cast<double>(data.users.size()) > ClippedSum::kMostExpected) {
    return refuse("sampling probability: expected at most 2^21 users a round");
  }
  if (data.users.empty()) {
    return refuse("no user has enough tokens: lower the number of tokens a user");
  }
  return base::OkStatus();
}

// What must stay for a run to go on: not how long, not how often it is looked at, not the threads.
std::string IdentityOf(const FederatedOptions& options, const FederatedData& data) {
  std::ostringstream text;
  text.precision(17);
  const LocalTraining& local = options.local;
  text << "federated 1; " << data.source << "; model " << data.model->Description() << "; local "
       << static_cast<int>(local.algorithm) << ' ' << local.epochs << ' ' << local.batch_size << ' '
       << local.unroll << ' ' << local.learning_rate << "; clip " << options.clipping.norm << ' '
       << options.clipping.per_layer << "; average " << options.estimator.clipped_divisor << ' '
       << options.estimator.sampling_probability << ' ' << options.estimator.weight << "; noise "
       << options.noise_multiplier << "; weight " << options.full_weight_tokens << "; budget "
       << options.delta << ' ' << options.target_epsilon.value_or(0) << "; schedule";
  for (const ScheduleChange& change : options.schedule) {
    text << ' ' << change.round << ':' << change.clip_norm << ':'
         << change.noise_multiplier.value_or(-1);
  }
  if (options.simulated != SimulatedRounds()) {
    text << "; simulated " << options.simulated.noise_of_clip << ' '
         << options.simulated.fixed_size_sample;
  }
  return text.str();
}

// What an account is made with: nats at an order.
struct AccountBudget {
  divergence::RenyiOrder order = divergence::RenyiOrder::Two();
  accounting::FixedNats nats;
};

// For a training that ends at a target: the budget that pays for the most rounds of this kind. For
// one that ends by its number of rounds: the order that is best after so many; as good as no limit.
StatusOr<AccountBudget> BudgetOf(const FederatedOptions& options, const TrainingStep& round) {
  if (options.target_epsilon.has_value()) {
    SUBMIX_ASSIGN_OR_RETURN(
        const accounting::StepBudget budget,
        accounting::StepBudget::Plan(round, {*options.target_epsilon, options.delta}));
    return AccountBudget{budget.binding().order, budget.budget()};
  }
  const accounting::PrivacyEvent event = {round, options.rounds};
  SUBMIX_ASSIGN_OR_RETURN(
      const accounting::BestConversion best,
      BestEpsilon(accounting::CountRdp({&event, 1}, accounting::DefaultOrders()), options.delta,
                  accounting::ConversionKind::kImproved));
  return AccountBudget{best.order, accounting::FixedNats::RoundDown(kMostNats)};
}

class FederatedRun {
 public:
  FederatedRun(const FederatedOptions& options, const FederatedData& data,
               base::RandomSource& random)
      : options_(options),
        data_(data),
        random_(random),
        identity_(IdentityOf(options, data)),
        is_private_(options.noise_multiplier > 0),
        threads_(options.threads > 0 ? options.threads : base::AvailableProcessors()),
        updates_(*data.model, {options.local, options.full_weight_tokens}, options.clipping,
                 threads_, options.ranks),
        average_(data.start.size()) {}

  base::Status Prepare();
  StatusOr<FederatedResult> Run(base::ProgressStyle style,
                                const std::function<base::Status(const RoundReport&)>& round_sink);

 private:
  std::string CheckpointPath() const {
    return base::JoinPath(options_.directory, "checkpoint.safetensors");
  }
  std::string AccountDirectory() const { return base::JoinPath(options_.directory, "training"); }
  TrainingStep RoundOf(std::int64_t round) const {
    return {options_.estimator.sampling_probability, SettingsOf(options_, round).noise_multiplier};
  }
  base::Status Begin();
  base::Status Save();
  // A function of the noisy averages alone, so that to say it costs nothing.
  base::Status CheckParameters() const;
  std::vector<std::size_t> SampleUsers();
  // The average with the noise of an experiment, if any: against no receipt, for no promise.
  void AverageWithoutPrivacy(const ClippedSum& sum, const RoundSettings& settings);
  // False if the budget cannot pay it.
  StatusOr<bool> RunRound(RoundReport& report);
  base::Status Evaluate(RoundReport& report);
  StatusOr<double> Epsilon() const;
  accounting::PrivacyStatement Statement() const;

  const FederatedOptions& options_;
  const FederatedData& data_;
  base::RandomSource& random_;
  const std::string identity_;
  const bool is_private_;
  const int threads_;
  std::unique_ptr<base::FileLock> lock_;
  FederatedState state_;
  std::unique_ptr<TrainingAccount> account_;  // null without noise
  ClientUpdates updates_;
  std::vector<float> average_;
};

// The checkpoint of round 0 first, then the account: whatever a crash leaves, nothing that was
// charged is forgotten.
base::Status FederatedRun::Begin() {
  if (!is_private_) return SaveFederatedState(CheckpointPath(), identity_, state_);
  SUBMIX_ASSIGN_OR_RETURN(const AccountBudget budget, BudgetOf(options_, RoundOf(1)));
  state_.order = budget.order.value();
  SUBMIX_RETURN_IF_ERROR(SaveFederatedState(CheckpointPath(), identity_, state_));
  return TrainingAccount::Create(AccountDirectory(), identity_, budget.order, budget.nats);
}

base::Status FederatedRun::Prepare() {
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(options_.directory));
  SUBMIX_RETURN_IF_ERROR(base::MakePrivate(options_.directory));
  SUBMIX_ASSIGN_OR_RETURN(lock_, base::LockFile(base::JoinPath(options_.directory, "lock")));
  const bool has_ledger = base::FileExists(AccountDirectory());
  if (!base::FileExists(CheckpointPath())) {
    if (has_ledger) {
      return base::DataLossError(options_.directory +
                                 ": a ledger without a checkpoint; what was spent there was spent "
                                 "on these users, so keep it and give a new directory");
    }
    state_.parameters.assign(data_.start.begin(), data_.start.end());
    SUBMIX_RETURN_IF_ERROR(Begin());
  } else {
    SUBMIX_ASSIGN_OR_RETURN(state_,
                            LoadFederatedState(CheckpointPath(), identity_, data_.start.size()));
    if (is_private_ && !has_ledger) {
      if (state_.round > 0) {
        return base::DataLossError(options_.directory +
                                   ": the checkpoint's ledger is missing: what was spent is not "
                                   "known any more");
      }
      SUBMIX_RETURN_IF_ERROR(Begin());
    }
  }
  if (is_private_) {
    SUBMIX_ASSIGN_OR_RETURN(const auto order, divergence::RenyiOrder::Create(state_.order));
    SUBMIX_ASSIGN_OR_RETURN(
        account_, TrainingAccount::Open(AccountDirectory(), identity_, order, state_.history,
                                        RoundOf(state_.round + 1)));
  }
  return CheckParameters();
}

base::Status FederatedRun::Save() {
  if (account_ != nullptr) state_.history = account_->history();
  return SaveFederatedState(CheckpointPath(), identity_, state_);
}

base::Status FederatedRun::CheckParameters() const {
  if (AreFinite(state_.parameters)) return base::OkStatus();
  return base::FailedPreconditionError(
      options_.directory + ": the parameters after round " + std::to_string(state_.round) +
      " are not finite; nothing more is charged; train anew with a lower learning rate");
}

StatusOr<double> FederatedRun::Epsilon() const {
  if (account_ == nullptr) return std::numeric_limits<double>::infinity();
  return account_->Epsilon(options_.delta);
}

accounting::PrivacyStatement FederatedRun::Statement() const {
  accounting::PrivacyStatement statement =
      accounting::StatementOfSteps(account_->bounds(), state_.order, options_.delta);
  statement.mechanism =
      "dp-fedavg, " + std::to_string(account_->steps_charged()) + " rounds charged";
  statement.unit = accounting::PrivacyUnit::kUserKey;
  statement.proof =
      "Mironov, Talwar and Zhang 2019, if each user takes part in a round independently and "
      "nobody sees who did, and the number of users is public";
  return statement;
}

std::vector<std::size_t> FederatedRun::SampleUsers() {
  const std::size_t count = data_.users.size();
  const double q = options_.estimator.sampling_probability;
  if (!options_.simulated.fixed_size_sample) return SamplePoisson(count, q, random_);
  const auto size = static_cast<std::size_t>(std::llround(q * static_cast<double>(count)));
  return SampleFixedSize(count, size, random_);
}

void FederatedRun::AverageWithoutPrivacy(const ClippedSum& sum, const RoundSettings& settings) {
  sum.ReleaseWithoutPrivacy(options_.estimator, average_);
  if (!(options_.simulated.noise_of_clip > 0)) return;
  const double deviation = options_.simulated.noise_of_clip * settings.clipping.norm;
  GaussianNoise noise(random_);
  for (float& number : average_) number += static_cast<float>(deviation * noise.Next());
}

StatusOr<bool> FederatedRun::RunRound(RoundReport& report) {
  report.round = state_.round + 1;
  const RoundSettings settings = SettingsOf(options_, report.round);
  std::vector<std::span<const TokenId>> users;
  for (const std::size_t user : SampleUsers()) users.push_back(data_.users[user]);
  report.users = std::ssize(users);
  SUBMIX_ASSIGN_OR_RETURN(const ClippedSum* const sum,
                          updates_.Sum(state_.parameters, users, settings.clipping));
  if (account_ == nullptr) {
    AverageWithoutPrivacy(*sum, settings);
  } else {
    SUBMIX_ASSIGN_OR_RETURN(auto receipt, account_->Charge(RoundOf(report.round)));
    if (!receipt.has_value()) return false;
    sum->Release(options_.estimator, settings.noise_multiplier, *std::move(receipt), random_,
                 average_);
  }
  for (std::size_t i = 0; i < average_.size(); ++i) state_.parameters[i] += average_[i];
  data_.model->Normalise(state_.parameters);
  state_.round = report.round;
  SUBMIX_ASSIGN_OR_RETURN(report.epsilon, Epsilon());
  return true;
}

base::Status FederatedRun::Evaluate(RoundReport& report) {
  const bool is_due =
      report.round % options_.evaluate_every == 0 || report.round == options_.rounds;
  if (!is_due || data_.heldout.empty()) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(report.heldout,
                          data_.model->Evaluate(state_.parameters, data_.heldout, threads_));
  std::vector<double>& recent = state_.recent_accuracies;
  recent.push_back(report.heldout->accuracy_top1);
  if (recent.size() > kSmoothed) recent.erase(recent.begin());
  report.smoothed_accuracy_top1 =
      std::accumulate(recent.begin(), recent.end(), 0.0) / static_cast<double>(recent.size());
  return base::OkStatus();
}

std::string ProgressNote(const RoundReport& report, bool is_private) {
  const std::string note =
      is_private ? "epsilon " + accounting::FormatCost(report.epsilon) : "not private";
  if (!report.heldout.has_value()) return note;
  char metrics[64];
  std::snprintf(metrics, sizeof metrics, ", AccuracyTop1 %.2f %%, perplexity %.1f",
                100 * report.heldout->accuracy_top1, report.heldout->perplexity);
  return note + metrics;
}

StatusOr<FederatedResult> FederatedRun::Run(
    base::ProgressStyle style, const std::function<base::Status(const RoundReport&)>& round_sink) {
  base::ProgressBar progress("federated training", options_.rounds, "rounds", style);
  progress.SkipTo(std::min(state_.round, options_.rounds));
  FederatedResult result;
  while (state_.round < options_.rounds) {
    if (options_.should_stop && options_.should_stop()) {
      return base::UnavailableError("stopped after round " + std::to_string(state_.round) +
                                    "; the same command goes on from there");
    }
    RoundReport report;
    SUBMIX_ASSIGN_OR_RETURN(const bool done, RunRound(report));
    if (!done && !options_.target_epsilon.has_value()) {
      return base::ResourceExhaustedError(
          "the ledger cannot hold another round with so little noise: more noise");
    }
    if (!done) {
      result.target_reached = true;
      break;
    }
    if (const base::Status status = CheckParameters(); !status.ok()) {
      SUBMIX_RETURN_IF_ERROR(Save());  // started again, it must not pay for another end
      return status;
    }
    SUBMIX_RETURN_IF_ERROR(Evaluate(report));
    SUBMIX_RETURN_IF_ERROR(Save());
    SUBMIX_RETURN_IF_ERROR(round_sink(report));
    progress.Advance(1, ProgressNote(report, is_private_));
  }
  progress.Finish();
  updates_.Dismiss();
  result.rounds = state_.round;
  result.parameters = state_.parameters;
  SUBMIX_ASSIGN_OR_RETURN(result.epsilon, Epsilon());
  if (account_ != nullptr) {
    result.rounds_charged = account_->steps_charged();
    result.statement = Statement();
  }
  return result;
}

}  // namespace

StatusOr<FederatedResult> TrainFederated(
    const FederatedOptions& options, const FederatedData& data, base::RandomSource& random,
    base::ProgressStyle progress,
    const std::function<base::Status(const RoundReport&)>& round_sink) {
  SUBMIX_RETURN_IF_ERROR(CheckOptions(options, data));
  return CatchTorchErrors([&]() -> StatusOr<FederatedResult> {
    FederatedRun run(options, data, random);
    SUBMIX_RETURN_IF_ERROR(run.Prepare());
    return run.Run(progress, round_sink);
  });
}

}  // namespace submix::train
