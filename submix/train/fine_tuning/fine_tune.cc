#include "submix/train/fine_tuning/fine_tune.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "submix/train/fine_tuning/group_trainer.h"
#include "submix/train/numerics/client_threads.h"
#include "submix/train/numerics/torch_environment.h"
#include "submix/train/numerics/torch_errors.h"
#include "submix/train/recipes/member_recipe.h"
#include "submix/train/recipes/training_options_table.h"

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

// Members that are trained in one batch.
std::size_t GroupsOf(std::span<const MemberTask> tasks, const FineTuneOptions& options) {
  if (!options.lora.has_value()) return 1;
  return std::min(tasks.size(), static_cast<std::size_t>(options.members_at_a_time));
}

// How many threads train lots of their own; 0: all threads share each product. Members' text does
// not decide it, nor which of them are done.
int LotThreads(std::span<const MemberTask> tasks, const FineTuneOptions& options, TaskShare share) {
  const std::size_t groups = GroupsOf(tasks, options);
  const std::size_t lots = (std::max(tasks.size(), share.all_tasks) + groups - 1) / groups;
  const int threads = TorchThreads(options.threads);
  return options.lora.has_value() && lots >= static_cast<std::size_t>(threads) ? threads : 0;
}

// For each group of parameters the tasks that are trained there, one after another. Fixed by index,
// also when some are done: where a member stands in a batch stays public.
std::vector<TaskQueue> QueuesOf(std::span<const MemberTask> tasks, const FineTuneOptions& options,
                                TaskShare share) {
  const std::size_t groups = GroupsOf(tasks, options);
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

// What several threads call: one at a time, and when the training is over for one, it is for all.
class SharedTraining {
 public:
  SharedTraining(const FineTuneOptions& options, base::ProgressBar& progress)
      : options_(options), progress_(progress) {}

  bool IsOver() {
    const std::lock_guard lock(mutex_);
    is_over_ = is_over_ || (options_.should_stop && options_.should_stop());
    return is_over_;
  }
  void Advance(std::int64_t updates) {
    const std::lock_guard lock(mutex_);
    progress_.Advance(updates);
  }
  void Skip(std::int64_t updates) {
    const std::lock_guard lock(mutex_);
    progress_.Skip(updates);
  }
  void Fail(const base::Status& status) {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    if (first_error_.ok()) first_error_ = status;
  }
  const base::Status& first_error() const { return first_error_; }

 private:
  const FineTuneOptions& options_;
  base::ProgressBar& progress_;
  std::mutex mutex_;
  bool is_over_ = false;
  base::Status first_error_;
};

// Every `threads`-th lot of the share.
TaskShare LotsOfThread(TaskShare share, int threads, std::size_t number) {
  return {share.first + share.stride * static_cast<int>(number), share.stride * threads};
}

// Each thread trains its lots, adapters apart, weights shared.
base::Status TrainLots(MemberModels& models, std::span<const MemberTask> tasks,
                       const FineTuneOptions& options, const std::string& identity, TaskShare share,
                       int threads, base::ProgressStyle style) {
  std::int64_t updates_of_all = 0;
  for (int i = 0; i < threads; ++i) {
    const TaskShare lots = LotsOfThread(share, threads, static_cast<std::size_t>(i));
    updates_of_all += PlannedUpdates(QueuesOf(tasks, options, lots), options);
  }
  base::ProgressBar progress("fine-tuning", updates_of_all, "steps", style);
  SharedTraining training(options, progress);
  FineTuneOptions of_thread = options;
  of_thread.should_stop = [&] { return training.IsOver(); };
  const auto train = [&](std::size_t number) {
    const auto twin = models.Twin();
    const TaskShare lots = LotsOfThread(share, threads, number);
    return GroupTrainer(*twin, QueuesOf(tasks, options, lots), of_thread, identity)
        .Run({[&](std::int64_t updates) { training.Skip(updates); },
              [&](std::int64_t updates) { training.Advance(updates); }});
  };
  SUBMIX_RETURN_IF_ERROR(RunOnClientThreads(
      threads, static_cast<std::size_t>(threads), [&](ClientQueue& queue, int /*thread*/) {
        while (const auto number = queue.Next()) {
          const base::Status status = CatchTorchErrors([&] { return train(*number); });
          if (!status.ok()) training.Fail(status);
        }
        return base::OkStatus();
      }));
  return training.first_error();
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
  const int threads = LotThreads(tasks, options, share);
  if (threads > 0) return TrainLots(*models, tasks, options, identity, share, threads, style);
  base::ProgressBar progress("fine-tuning", PlannedUpdates(queues, options), "steps", style);
  return GroupTrainer(*models, std::move(queues), options, identity)
      .Run(GroupTrainer::Progress::On(progress));
}

}  // namespace

base::Status FineTuneMembers(const std::string& public_directory, std::span<const MemberTask> tasks,
                             const FineTuneOptions& options, base::ProgressStyle progress,
                             TaskShare share) {
  if (tasks.empty()) return base::OkStatus();
  SUBMIX_RETURN_IF_ERROR(SetTorchThreads(options.threads));
  return CatchTorchErrors(
      [&] { return TrainMembers(public_directory, tasks, options, progress, share); });
}

}  // namespace submix::train
