// Fine-tuning of members: every member from the public model, on its own text alone (SubMix,
// Algorithm 1). Torch-free header.
//
// Nothing about one member depends on another's text: each has its own random stream, data order,
// optimiser state, gradient clipping, step count and end (privacy_checklist.md 11 to 14). Members
// that train together share only the frozen public weights and the shapes of their batches, which
// are public.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "submix/base/progress_bar.h"
#include "submix/base/status.h"
#include "submix/train/recipes/fine_tune_options.h"
#include "submix/train/recipes/member_recipe.h"

namespace submix::train {

// Of each members_at_a_time consecutive tasks every `stride`-th lot, from number `first` on: what
// one of several processes trains. Where a member stands in a batch does not depend on it.
struct TaskShare {
  int first = 0;
  int stride = 1;
  // Where these are some of so many tasks: they get the bits that they would get among all. 0: they
  // are all.
  std::size_t all_tasks = 0;
};

// Trains every task of the share whose output directory does not exist yet; one that was
// interrupted goes on from its last checkpoint and ends with the same bits as if it had not been
// (for one number of threads). Where adapters are to be trained in as many lots as there are
// threads or more, each thread takes every so many-th lot, and the bits are those of one thread.
// Errors: those of reading the public model; kInvalidArgument for options out of range, blocks that
// are too long or token ids outside the model's vocabulary; kFailedPrecondition for a checkpoint of
// another training, and if a member's weights or its last batch's loss are not finite; kUnavailable
// if should_stop said so.
base::Status FineTuneMembers(const std::string& public_directory, std::span<const MemberTask> tasks,
                             const FineTuneOptions& options, base::ProgressStyle progress,
                             TaskShare share = {});

}  // namespace submix::train
