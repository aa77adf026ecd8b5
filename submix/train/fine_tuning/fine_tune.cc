#include "submix/train/fine_tuning/fine_tune.h"

#include <algorithm>
#include <utility>

#include "submix/train/fine_tuning/group_trainer.h"
#include "submix/train/fine_tuning/member_recipe.h"
#include "submix/train/fine_tuning/training_options_table.h"
#include "submix/train/numerics/torch_environment.h"
#include "submix/train/numerics/torch_errors.h"

namespace submix::train {
namespace {

base::Status CheckTasks(std::span<const MemberTask> tasks, const FineTuneOptions& options,
                        const model::DecoderConfig& config) {
  for (const MemberTask& task : tasks) {
    const base::Status status = CheckBlocks(task.blocks, options, config);
    if (!status.ok()) return {status.code(), task.output_directory + ": " + status.message()};
  }
  return base::OkStatus();
}

// For each group of parameters the tasks that are trained there, one after another. Fixed by index,
// also when some are done: where a member stands in a batch stays public.
std::vector<TaskQueue> QueuesOf(std::span<const MemberTask> tasks, const FineTuneOptions& options,
                                TaskShare share) {
  const std::size_t groups =
      options.lora.has_value()
          ? std::min(tasks.size(), static_cast<std::size_t>(options.members_at_a_time))
          : 1;
  std::vector<TaskQueue> queues(groups);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i / groups % static_cast<std::size_t>(share.stride) !=
        static_cast<std::size_t>(share.first)) {
      continue;
    }
    queues[i % groups].push_back(&tasks[i]);
  }
  return queues;
}

base::Status TrainMembers(const std::string& public_directory, std::span<const MemberTask> tasks,
                          const FineTuneOptions& options, base::ProgressStyle style,
                          TaskShare share) {
  SUBMIX_ASSIGN_OR_RETURN(const PublicModel public_model,
                          LoadPublicModel(public_directory, options.precision));
  SUBMIX_RETURN_IF_ERROR(CheckFineTuneOptions(options, public_model.config));
  SUBMIX_RETURN_IF_ERROR(CheckTasks(tasks, options, public_model.config));
  // Everything shared that decides the outcome, so that no checkpoint of another training is used.
  SUBMIX_ASSIGN_OR_RETURN(const std::string weights, PublicModelSha256(public_directory));
  const std::string identity = weights + " " + TrainingIdentity(options);
  std::vector<TaskQueue> queues = QueuesOf(tasks, options, share);
  SUBMIX_ASSIGN_OR_RETURN(
      const std::unique_ptr<MemberModels> models,
      MakeMembers(public_model, options.lora, static_cast<int>(queues.size()), options.precision));
  return GroupTrainer(*models, std::move(queues), options, identity).Run("fine-tuning", style);
}

}  // namespace

base::Status CheckFineTuneOptions(const FineTuneOptions& options,
                                  const model::DecoderConfig& config) {
  SUBMIX_RETURN_IF_ERROR(CheckNumbers(options, config));
  return CheckAdapterOptions(options.lora, config);
}

base::Status FineTuneMembers(const std::string& public_directory, std::span<const MemberTask> tasks,
                             const FineTuneOptions& options, base::ProgressStyle progress,
                             TaskShare share) {
  if (tasks.empty()) return base::OkStatus();
  SUBMIX_RETURN_IF_ERROR(SetTorchThreads(options.threads));
  return CatchTorchErrors(
      [&] { return TrainMembers(public_directory, tasks, options, progress, share); });
}

}  // namespace submix::train
