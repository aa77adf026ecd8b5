// Trains the members of one group in lock-step over one batch. Every member has its own order,
// optimiser, clipping and end; a member that is done turns into padding, so that the shapes, and
// with them the others' bits, stay what they were.
// Internal: includes torch.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "submix/base/progress_bar.h"
#include "submix/train/fine_tuning/fine_tune.h"
#include "submix/train/fine_tuning/training_order.h"
#include "submix/train/models/member_models.h"

namespace submix::train {

// The options that decide a training's outcome, as text: part of a checkpoint's identity.
std::string TrainingIdentity(const FineTuneOptions& options);

// One thread at a time.
class GroupTrainer {
 public:
  // `identity` of everything that the members share: options and public model. `first_task` is the
  // index of tasks[0] among all tasks. All arguments must outlive the trainer.
  GroupTrainer(MemberModels& models, std::span<const MemberTask> tasks, std::size_t first_task,
               const FineTuneOptions& options, const std::string& identity);

  // Trains to the end. `progress` counts tokens.
  base::Status Run(base::ProgressBar& progress);

 private:
  struct Member {
    const MemberTask* task;
    std::vector<std::size_t> blocks;  // of two tokens or more
    TrainingOrder order;
    AdamWState state;
    std::int64_t total_steps;
    std::string partial_directory;
    std::string identity;
    std::int64_t tokens = 0;  // of the current batch
    bool done = false;
  };

  base::Status Start(int group, base::ProgressBar& progress);
  // One update of every member that is not done.
  base::Status Step(base::ProgressBar& progress);
  void FillBatch();
  base::Status Update(int group, double loss);
  base::Status Finish(int group);

  MemberModels& models_;
  const FineTuneOptions& options_;
  const std::size_t first_task_;
  std::vector<Member> members_;
  TokenBatch batch_;
};

}  // namespace submix::train
