#include "submix/train/federated_training.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <numeric>
#include <sstream>
#include <thread>

#include "submix/base/file_system.h"
#include "submix/train/client_threads.h"
#include "submix/train/federated_checkpoint.h"
#include "submix/train/fixed_size_sampling.h"
#include "submix/train/gaussian_noise.h"
#include "submix/train/poisson_sampling.h"
#include "submix/train/round_charges.h"
#include "submix/train/torch_errors.h"

namespace submix::train {
namespace {

using base::StatusOr;
using base::TokenId;

constexpr std::size_t kSmoothed = 5;  // evaluations

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
  if (!(local.learning_rate > 0 && std::isfinite(local.learning_rate))) {
    return refuse("learning rate: expected more than 0");
  }
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
  if (data.users.empty()) {
    return refuse("no user has enough words: lower the number of tokens a user");
  }
  return base::OkStatus();
}

// What must stay for a run to go on: not how long, not how often it is looked at, not the threads.
std::string IdentityOf(const FederatedOptions& options, const FederatedData& data) {
  std::ostringstream text;
  text.precision(17);
  const LocalTraining& local = options.local;
  text << "federated 1; " << data.source << "; model " << data.shape.vocab_size << ' '
       << data.shape.width << ' ' << data.shape.units << "; local "
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

struct Worker {
  Worker(const FederatedOptions& options, const FederatedData& data)
      : pass(data.shape, options.local), sum(WordLstmVectors(data.shape), options.clipping) {}
  LocalPass pass;
  UpdateSum sum;
};

class FederatedRun {
 public:
  FederatedRun(const FederatedOptions& options, const FederatedData& data,
               base::RandomSource& random)
      : options_(options),
        data_(data),
        random_(random),
        identity_(IdentityOf(options, data)),
        is_private_(options.noise_multiplier > 0),
        threads_(options.threads > 0
                     ? options.threads
                     : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))),
        average_(data.start.size()) {}

  base::Status Prepare();
  StatusOr<FederatedResult> Run(base::ProgressStyle style,
                                const std::function<base::Status(const RoundReport&)>& round_sink);

 private:
  std::string CheckpointPath() const {
    return base::JoinPath(options_.directory, "checkpoint.safetensors");
  }
  Round RoundOf(std::int64_t round) const {
    return {options_.estimator.sampling_probability, SettingsOf(options_, round).noise_multiplier};
  }
  base::Status Begin();
  base::Status Save();
  std::vector<std::size_t> SampleUsers();
  base::Status SumUpdates(const std::vector<std::size_t>& users, const UpdateClipping& clipping);
  // The average with the noise of an experiment, if any: against no receipt, for no promise.
  void AverageWithoutPrivacy(const RoundSettings& settings);
  // False if the budget cannot pay it.
  StatusOr<bool> RunRound(RoundReport& report);
  base::Status Evaluate(RoundReport& report);
  StatusOr<double> Epsilon() const;

  const FederatedOptions& options_;
  const FederatedData& data_;
  base::RandomSource& random_;
  const std::string identity_;
  const bool is_private_;
  const int threads_;
  std::unique_ptr<base::FileLock> lock_;
  FederatedState state_;
  std::unique_ptr<RoundCharges> charges_;  // null without noise
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<float> average_;
};

// The checkpoint of round 0 first, then the ledger, empty: whatever a crash leaves, nothing that
// was charged is forgotten.
base::Status FederatedRun::Begin() {
  state_.parameters.assign(data_.start.begin(), data_.start.end());
  RoundBudget budget;
  if (is_private_) {
    if (options_.target_epsilon.has_value()) {
      SUBMIX_ASSIGN_OR_RETURN(
          budget, BudgetForTarget(RoundOf(1), {*options_.target_epsilon, options_.delta}));
    } else {
      SUBMIX_ASSIGN_OR_RETURN(budget, BudgetForRounds(RoundOf(1), options_.rounds, options_.delta));
    }
    state_.order = budget.order;
  }
  SUBMIX_RETURN_IF_ERROR(SaveFederatedState(CheckpointPath(), identity_, state_));
  if (!is_private_) return base::OkStatus();
  return RoundCharges::Create(options_.directory, identity_, budget);
}

base::Status FederatedRun::Prepare() {
  base::FileSystem& files = base::PosixFileSystem();
  SUBMIX_RETURN_IF_ERROR(files.MakeDirectories(options_.directory));
  SUBMIX_RETURN_IF_ERROR(files.MakePrivate(options_.directory));
  SUBMIX_ASSIGN_OR_RETURN(lock_, files.Lock(base::JoinPath(options_.directory, "lock")));
  const bool has_ledger = files.Exists(base::JoinPath(options_.directory, "ledger.db"));
  if (!files.Exists(CheckpointPath())) {
    if (has_ledger) {
      return base::DataLossError(options_.directory +
                                 ": a ledger without a checkpoint; what was spent there was spent "
                                 "on these users, so keep it and give a new directory");
    }
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
    SUBMIX_ASSIGN_OR_RETURN(
        charges_, RoundCharges::Open(options_.directory, identity_, state_.order, state_.history,
                                     state_.ledger_records, RoundOf(state_.round + 1)));
  }
  for (int i = 0; i < threads_; ++i) workers_.push_back(std::make_unique<Worker>(options_, data_));
  return base::OkStatus();
}

base::Status FederatedRun::Save() {
  if (charges_ != nullptr) {
    state_.history = charges_->history();
    state_.ledger_records = charges_->records();
  }
  return SaveFederatedState(CheckpointPath(), identity_, state_);
}

// Into the first worker's sum.
base::Status FederatedRun::SumUpdates(const std::vector<std::size_t>& users,
                                      const UpdateClipping& clipping) {
  for (const auto& worker : workers_) worker->sum.Clear(clipping);
  SUBMIX_RETURN_IF_ERROR(
      RunOnClientThreads(threads_, users.size(), [&](ClientQueue& queue, int thread) {
        return CatchTorchErrors([&] {
          Worker& worker = *workers_[static_cast<std::size_t>(thread)];
          while (const auto next = queue.Next()) {
            const std::vector<TokenId>& words = data_.users[users[*next]];
            const double weight =
                std::min(1.0, static_cast<double>(words.size()) /
                                  static_cast<double>(options_.full_weight_tokens));
            worker.sum.Add(worker.pass.Update(state_.parameters, words, clipping), weight);
          }
          return base::OkStatus();
        });
      }));
  for (std::size_t i = 1; i < workers_.size(); ++i) workers_[0]->sum.Add(workers_[i]->sum);
  return base::OkStatus();
}

StatusOr<double> FederatedRun::Epsilon() const {
  if (charges_ == nullptr) return std::numeric_limits<double>::infinity();
  return charges_->Epsilon(options_.delta);
}

std::vector<std::size_t> FederatedRun::SampleUsers() {
  const std::size_t count = data_.users.size();
  const double q = options_.estimator.sampling_probability;
  if (!options_.simulated.fixed_size_sample) return SamplePoisson(count, q, random_);
  const auto size = static_cast<std::size_t>(std::llround(q * static_cast<double>(count)));
  return SampleFixedSize(count, size, random_);
}

void FederatedRun::AverageWithoutPrivacy(const RoundSettings& settings) {
  workers_[0]->sum.ReleaseWithoutPrivacy(options_.estimator, average_);
  if (!(options_.simulated.noise_of_clip > 0)) return;
  const double deviation = options_.simulated.noise_of_clip * settings.clipping.norm;
  GaussianNoise noise(random_);
  for (float& number : average_) number += static_cast<float>(deviation * noise.Next());
}

StatusOr<bool> FederatedRun::RunRound(RoundReport& report) {
  report.round = state_.round + 1;
  const RoundSettings settings = SettingsOf(options_, report.round);
  const std::vector<std::size_t> users = SampleUsers();
  report.users = std::ssize(users);
  SUBMIX_RETURN_IF_ERROR(SumUpdates(users, settings.clipping));
  if (charges_ == nullptr) {
    AverageWithoutPrivacy(settings);
  } else {
    SUBMIX_ASSIGN_OR_RETURN(auto receipt, charges_->Charge(RoundOf(report.round)));
    if (!receipt.has_value()) return false;
    workers_[0]->sum.Release(options_.estimator, settings.noise_multiplier, *std::move(receipt),
                             random_, average_);
  }
  for (std::size_t i = 0; i < average_.size(); ++i) state_.parameters[i] += average_[i];
  NormaliseEmbedding(data_.shape, state_.parameters);
  state_.round = report.round;
  SUBMIX_ASSIGN_OR_RETURN(report.epsilon, Epsilon());
  return true;
}

base::Status FederatedRun::Evaluate(RoundReport& report) {
  const bool is_due =
      report.round % options_.evaluate_every == 0 || report.round == options_.rounds;
  if (!is_due || data_.heldout.empty()) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(
      report.heldout, EvaluateWordLstm(data_.shape, state_.parameters, data_.heldout, threads_));
  std::vector<double>& recent = state_.recent_accuracies;
  recent.push_back(report.heldout->accuracy_top1);
  if (recent.size() > kSmoothed) recent.erase(recent.begin());
  report.smoothed_accuracy_top1 =
      std::accumulate(recent.begin(), recent.end(), 0.0) / static_cast<double>(recent.size());
  return base::OkStatus();
}

std::string ProgressNote(const RoundReport& report, bool is_private) {
  char text[96];
  int length = 0;
  if (is_private) {
    length = std::snprintf(text, sizeof text, "epsilon %s",
                           accounting::FormatCost(report.epsilon).c_str());
  } else {
    length = std::snprintf(text, sizeof text, "not private");
  }
  if (report.heldout.has_value()) {
    std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length),
                  ", AccuracyTop1 %.2f %%, perplexity %.1f", 100 * report.heldout->accuracy_top1,
                  report.heldout->perplexity);
  }
  return text;
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
    SUBMIX_RETURN_IF_ERROR(Evaluate(report));
    SUBMIX_RETURN_IF_ERROR(Save());
    SUBMIX_RETURN_IF_ERROR(round_sink(report));
    progress.Advance(1, ProgressNote(report, is_private_));
  }
  progress.Finish();
  result.rounds = state_.round;
  result.parameters = state_.parameters;
  SUBMIX_ASSIGN_OR_RETURN(result.epsilon, Epsilon());
  if (charges_ != nullptr) {
    result.rounds_charged = charges_->num_rounds();
    result.statement = charges_->Statement(options_.delta);
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
