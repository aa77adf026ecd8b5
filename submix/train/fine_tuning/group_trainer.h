// Trains members in lock-step over one batch, one for each group of the models' parameters. Every
// member has its own order, optimiser, clipping and end; when it is done, its group goes on with
// the next of its own members, and at last with padding. So shapes, and the rows at which a member
// stands, are public, and no bit of a member depends on the text of another.
// Internal: includes torch.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "submix/base/progress_bar.h"
#include "submix/train/fine_tuning/fine_tune.h"
#include "submix/train/models/frozen_states.h"
#include "submix/train/models/member_models.h"
#include "submix/train/numerics/optimiser.h"
#include "submix/train/recipes/training_order.h"

namespace submix::train {

// The options that decide a training's outcome, as text: part of a checkpoint's identity.
std::string TrainingIdentity(const FineTuneOptions& options);

// The tasks that a group trains, one after another.
using TaskQueue = std::vector<const MemberTask*>;

// Of a training from its beginning: those of the queue that has most, since one update takes as
// long for every number of groups.
std::int64_t PlannedUpdates(const std::vector<TaskQueue>& queues, const FineTuneOptions& options);

// One thread at a time.
class GroupTrainer {
 public:
  // A queue for each of the models' groups. `identity` of everything that the members share:
  // options and public model. All arguments and the tasks must outlive the trainer.
  GroupTrainer(MemberModels& models, std::vector<TaskQueue> queues, const FineTuneOptions& options,
               const std::string& identity);

  // Told of updates: those that earlier runs did, then those that are done.
  struct Progress {
    std::function<void(std::int64_t updates)> skipped;
    std::function<void(std::int64_t updates)> done;

    static Progress On(base::ProgressBar& bar);  // which outlives it
  };
  // Trains to the end.
  base::Status Run(const Progress& progress);

 private:
  struct Member {
    const MemberTask* task;
    std::vector<std::size_t> blocks;  // of two tokens or more
    TrainingOrder order;
    AdamWState state;
    std::int64_t total_steps;
    std::string partial_directory;
    std::string identity;
    std::unique_ptr<FrozenStates> states;  // null: one pass, or nothing is frozen
  };
  struct Group {
    TaskQueue queue;
    std::size_t next = 0;          // in the queue
    std::int64_t steps_left = 0;   // of the whole queue
    std::optional<Member> member;  // in training; none once the queue is through
  };

  std::int64_t UpdatesLeft() const;
  Member MakeMember(const MemberTask& task) const;
  // Gives the group the next of its members that is not done, if there is one.
  base::Status StartNext(int group);
  // Takes up what an earlier run left of the group's member.
  base::Status Resume(int group);
  // One update of every group's member.
  base::Status Step();
  void FillBatch();
  base::Status Update(int group);
  base::Status Finish(int group);

  MemberModels& models_;
  const FineTuneOptions& options_;
  const std::string& identity_;
  std::vector<Group> groups_;
  TokenBatch batch_;
  const std::int64_t planned_updates_;
};

}  // namespace submix::train
