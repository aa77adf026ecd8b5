#include "submix/train/private_training/dp_sgd.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "submix/accounting/privacy_statement.h"
#include "submix/base/check.h"
#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/number_text.h"
#include "submix/train/kernels/vector_norm.h"
#include "submix/train/models/member_models.h"
#include "submix/train/numerics/torch_environment.h"
#include "submix/train/numerics/torch_errors.h"
#include "submix/train/numerics/training_checkpoint.h"
#include "submix/train/private_training/batch_gradient.h"
#include "submix/train/recipes/member_recipe.h"
#include "submix/train/recipes/training_options_table.h"
#include "submix/train/sampled_gaussian/clipped_sum.h"
#include "submix/train/sampled_gaussian/poisson_sampling.h"
#include "submix/train/sampled_gaussian/training_account.h"

namespace submix::train {
namespace {

using base::Status;
using base::StatusOr;

constexpr const char* kCheckpointFile = "checkpoint.safetensors";
// Beside the account: how many steps are in the weights, written just before they get their place.
constexpr const char* kStepsFile = "steps";
// Of the adapters' start: a public constant.
constexpr std::uint64_t kInitialSeed = 0x5eed0000u;
constexpr double kLeastBatch = 1e-9;
constexpr double kMostSteps = 0x1p53;

std::string StepsPath(const std::string& account_directory) {
  return base::JoinPath(account_directory, kStepsFile);
}

// What a training that is done had done.
StatusOr<DpSgdResult> ReadResult(const DpSgdTask& task, const TrainingAccount& account) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string text,
                          base::ReadFile(StepsPath(task.account_directory)));
  DpSgdResult result = {0, account.steps_charged()};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), result.steps);
  if (parsed.ec != std::errc() || result.steps < 0 || result.steps > result.steps_charged) {
    return base::DataLossError(StepsPath(task.account_directory) +
                               ": not the number of steps of this training");
  }
  return result;
}

// The public numbers that decide a training.
std::string PublicIdentity(const DpSgdOptions& options, const accounting::StepBudget& budget,
                           const std::string& weights_sha256) {
  std::ostringstream text;
  text.precision(17);
  text << weights_sha256;
  for (const double number :
       {budget.step().sampling_probability, budget.step().noise_multiplier, budget.target().epsilon,
        budget.target().delta, options.clip_norm, options.expected_batch}) {
    text << ' ' << number;
  }
  text << ' ' << static_cast<double>(options.steps);
  text << ' ' << IdentityNumbers(options) << ' ' << static_cast<int>(options.precision);
  if (options.lora.has_value()) text << ' ' << AdapterIdentity(*options.lora, options.steps);
  return text.str();
}

// With the private text: only checkpoints know it, and they go when the training is done.
std::string CheckpointIdentity(const std::string& public_identity, const DpSgdTask& task) {
  std::string bytes = public_identity;
  for (const TrainingUnit& unit : task.units) {
    bytes += "\n";
    for (const std::vector<corpus::StreamToken>& block : unit) {
      bytes += std::to_string(block.size()) + ":";
      bytes.append(reinterpret_cast<const char*>(block.data()), block.size() * sizeof block[0]);
    }
  }
  return base::ToHex(base::Sha256(bytes));
}

// Blocks in which something is predicted.
std::vector<TrainingUnit> UsableUnits(const DpSgdTask& task) {
  std::vector<TrainingUnit> units = task.units;
  for (TrainingUnit& unit : units) {
    std::erase_if(unit, [](const auto& block) { return corpus::NumCounted(block) == 0; });
  }
  return units;
}

class Trainer {
 public:
  Trainer(BatchGradient& gradient, const DpSgdTask& task, const DpSgdOptions& options,
          const accounting::StepBudget& budget, TrainingAccount& account,
          base::RandomSource& random, const std::string& public_identity)
      : gradient_(gradient),
        models_(gradient.models()),
        task_(task),
        options_(options),
        budget_(budget),
        account_(account),
        random_(random),
        identity_(CheckpointIdentity(public_identity, task)),
        units_(UsableUnits(task)),
        partial_directory_(task.output_directory + ".partial"),
        state_(models_.parameters().size()),
        private_gradient_(models_.parameters().size()) {}

  StatusOr<DpSgdResult> Run(base::ProgressStyle style) {
    SUBMIX_RETURN_IF_ERROR(Start());
    const std::int64_t batch = std::max<std::int64_t>(1, std::llround(options_.expected_batch));
    base::ProgressBar progress("DP-SGD", PlannedSteps() * batch, "users", style);
    progress.SkipTo(state_.step * batch);
    while (state_.step < PlannedSteps()) {
      if (options_.should_stop && options_.should_stop()) {
        SUBMIX_RETURN_IF_ERROR(SaveCheckpoint());
        return base::UnavailableError("training was stopped; started again, it goes on");
      }
      SUBMIX_RETURN_IF_ERROR(Step(batch, progress));
    }
    SUBMIX_RETURN_IF_ERROR(SaveCheckpoint());
    SUBMIX_RETURN_IF_ERROR(Finish());
    return DpSgdResult{state_.step, account_.steps_charged()};
  }

 private:
  // What is done and what the account still holds, if that is less than wanted.
  std::int64_t PlannedSteps() const {
    const std::int64_t left = budget_.most_steps() - account_.steps_charged();
    return std::min(options_.steps, state_.step + left);
  }

  std::string CheckpointPath() const { return base::JoinPath(partial_directory_, kCheckpointFile); }

  Status Start() {
    models_.Initialize(0, kInitialSeed);
    SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(partial_directory_));
    SUBMIX_RETURN_IF_ERROR(LoadTrainingCheckpoint(CheckpointPath(), identity_,
                                                  models_.parameters().values(0), state_));
    if (state_.step > account_.steps_charged()) {
      return base::DataLossError(
          partial_directory_ +
          ": holds more steps than the ledger beside it knows of; restore the newest ledger");
    }
    if (options_.steps > 1) gradient_.KeepStates(partial_directory_, units_, options_);
    last_checkpoint_ = std::chrono::steady_clock::now();
    return CheckWeights();
  }

  // A function of the noisy sums alone, so that to say it costs nothing.
  Status CheckWeights() {
    if (AreFinite(models_.parameters().values(0))) return base::OkStatus();
    return base::FailedPreconditionError(
        partial_directory_ + ": the weights after " + std::to_string(state_.step) +
        " steps are not finite; nothing more is charged; train anew with a lower learning rate");
  }

  // One step: sum, pay, noise, update. Nothing private leaves the sum before the charge is durable.
  Status Step(std::int64_t expected_batch, base::ProgressBar& progress) {
    const double epsilon = budget_.EpsilonAfter(account_.steps_charged() + 1).epsilon;
    const std::string note = "epsilon " + accounting::FormatCost(epsilon) + " of " +
                             base::NumberText(budget_.target().epsilon);
    std::int64_t shown = 0;
    const auto show = [&] {
      if (shown == expected_batch) return;
      progress.Advance(1, note);
      ++shown;
    };
    SUBMIX_ASSIGN_OR_RETURN(
        const ClippedSum* const sum,
        gradient_.Sum(units_,
                      SamplePoisson(units_.size(), budget_.step().sampling_probability, random_),
                      show));
    SUBMIX_ASSIGN_OR_RETURN(std::optional<ledger::Receipt> receipt,
                            account_.Charge(budget_.step()));
    SUBMIX_CHECK(receipt.has_value(), "the account holds what was planned");
    const AverageEstimator average = {.sampling_probability = 1, .weight = options_.expected_batch};
    sum->Release(average, budget_.step().noise_multiplier, *std::move(receipt), random_,
                 private_gradient_);
    const double rate = LearningRate(options_.learning_rate, state_.step, options_.steps);
    FlatParameters& parameters = models_.parameters();
    AdamWUpdate(parameters.values(0), private_gradient_, parameters.vectors(), rate,
                /*gradient_scale=*/1, options_.adamw, state_);
    if (const Status status = CheckWeights(); !status.ok()) {
      SUBMIX_RETURN_IF_ERROR(SaveCheckpoint());  // started again, it must not pay for another end
      return status;
    }
    progress.Advance(expected_batch - shown, note);
    const std::chrono::duration<double> age = std::chrono::steady_clock::now() - last_checkpoint_;
    return age.count() >= options_.checkpoint_seconds ? SaveCheckpoint() : base::OkStatus();
  }

  Status SaveCheckpoint() {
    SUBMIX_RETURN_IF_ERROR(SaveTrainingCheckpoint(CheckpointPath(), identity_,
                                                  models_.parameters().values(0), state_));
    last_checkpoint_ = std::chrono::steady_clock::now();
    return base::OkStatus();
  }

  Status Finish() {
    SUBMIX_RETURN_IF_ERROR(models_.Save(0, partial_directory_));
    SUBMIX_RETURN_IF_ERROR(
        base::WriteFile(StepsPath(task_.account_directory), std::to_string(state_.step)));
    SUBMIX_RETURN_IF_ERROR(base::RemoveAll(CheckpointPath()));
    return base::Rename(partial_directory_, task_.output_directory);
  }

  BatchGradient& gradient_;
  MemberModels& models_;
  const DpSgdTask& task_;
  const DpSgdOptions& options_;
  const accounting::StepBudget& budget_;
  TrainingAccount& account_;
  base::RandomSource& random_;
  const std::string identity_;
  const std::vector<TrainingUnit> units_;
  const std::string partial_directory_;
  AdamWState state_;
  std::vector<float> private_gradient_;
  std::chrono::steady_clock::time_point last_checkpoint_;
};

StatusOr<DpSgdResult> Train(const std::string& public_directory, const DpSgdTask& task,
                            const DpSgdOptions& options, const accounting::StepBudget& budget,
                            base::RandomSource& random, base::ProgressStyle progress) {
  SUBMIX_ASSIGN_OR_RETURN(const PublicModel public_model,
                          LoadPublicModel(public_directory, options.precision));
  SUBMIX_RETURN_IF_ERROR(CheckDpSgdOptions(options, public_model.config));
  for (const TrainingUnit& unit : task.units) {
    SUBMIX_RETURN_IF_ERROR(CheckBlocks(unit, options, public_model.config));
  }
  SUBMIX_ASSIGN_OR_RETURN(const std::string weights, PublicModelSha256(public_directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto gradient, BatchGradient::Make(public_model, options));
  const std::string identity = PublicIdentity(options, budget, weights);
  const divergence::RenyiOrder order = budget.binding().order;
  if (!base::FileExists(task.account_directory)) {
    SUBMIX_RETURN_IF_ERROR(
        TrainingAccount::Create(task.account_directory, identity, order, budget.budget()));
  }
  SUBMIX_ASSIGN_OR_RETURN(
      const auto account,
      TrainingAccount::Open(task.account_directory, identity, order, {}, budget.step()));
  if (base::FileExists(task.output_directory)) return ReadResult(task, *account);
  Trainer trainer(*gradient, task, options, budget, *account, random, identity);
  return trainer.Run(progress);
}

}  // namespace

Status CheckDpSgdOptions(const DpSgdOptions& options, const model::DecoderConfig& config) {
  SUBMIX_RETURN_IF_ERROR(CheckRange("clip", options.clip_norm, 1 / kLongestClip, kLongestClip));
  SUBMIX_RETURN_IF_ERROR(
      CheckRange("expected_batch", options.expected_batch, kLeastBatch, ClippedSum::kMostExpected));
  SUBMIX_RETURN_IF_ERROR(CheckRange("steps", static_cast<double>(options.steps), 1, kMostSteps));
  SUBMIX_RETURN_IF_ERROR(CheckRange("batch_size", options.blocks_at_a_time, 1, kMostRows));
  return CheckTrainingOptions(options, config);
}

StatusOr<DpSgdResult> TrainDpSgd(const std::string& public_directory, const DpSgdTask& task,
                                 const DpSgdOptions& options, const accounting::StepBudget& budget,
                                 base::RandomSource& random, base::ProgressStyle progress) {
  SUBMIX_RETURN_IF_ERROR(SetTorchThreads(options.threads));
  return CatchTorchErrors(
      [&] { return Train(public_directory, task, options, budget, random, progress); });
}

}  // namespace submix::train
