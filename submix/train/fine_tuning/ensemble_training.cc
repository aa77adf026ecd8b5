#include "submix/train/fine_tuning/ensemble_training.h"

#include <utility>

namespace submix::train {
namespace {

using base::Status;

// On the root: trains all tasks together with the other ranks, which are in ServeMembers, and
// returns when all are done. Each rank trains some of the groups that FineTuneMembers would train
// one after another, and so gets the same bits; it reads the public model and writes its members'
// directories itself. Null: this process alone. Errors: FineTuneMembers'; the other ranks are then
// on their own, or wait.
Status ShareMembers(Ranks* ranks, std::string public_directory, std::span<const MemberTask> tasks,
                    const FineTuneOptions& options, base::ProgressStyle progress) {
  if (ranks == nullptr) return FineTuneMembers(public_directory, tasks, options, progress);
  BroadcastVector(*ranks, public_directory);
  std::vector<MemberTask> all(tasks.begin(), tasks.end());
  std::uint64_t count = all.size();
  BroadcastValue(*ranks, count);
  all.resize(count);
  for (MemberTask& task : all) {
    BroadcastVector(*ranks, task.output_directory);
    BroadcastValue(*ranks, task.seed);
    BroadcastTokens(*ranks, task.blocks);
  }
  const Status status =
      FineTuneMembers(public_directory, all, options, progress, {ranks->rank(), ranks->size()});
  if (status.ok()) {
    ranks->Barrier();
  } else if (!ranks->is_root()) {
    return {status.code(), "rank " + std::to_string(ranks->rank()) + ": " + status.message()};
  }
  return status;
}

}  // namespace

Status TrainEnsemble(const EnsembleTrainingOptions& options, base::ProgressStyle progress,
                     Ranks* ranks) {
  SUBMIX_ASSIGN_OR_RETURN(EnsemblePlan plan, EnsemblePlan::Begin(options));
  if (plan.is_complete()) {
    return ShareMembers(ranks, "", {}, options.fine_tune, progress);  // the others wait for it
  }
  SUBMIX_RETURN_IF_ERROR(
      ShareMembers(ranks, plan.public_directory(), plan.tasks(), options.fine_tune, progress));
  return plan.Finish();
}

Status ServeMembers(Ranks& ranks, const FineTuneOptions& options) {
  return ShareMembers(&ranks, "", {}, options, base::ProgressStyle::kSilent);
}

}  // namespace submix::train
