// The members of an ensemble, trained by several ranks: each trains some of the groups that
// FineTuneMembers would train one after another, and so gets the same bits. Torch-free.
#pragma once

#include <span>
#include <string>

#include "submix/base/progress_bar.h"
#include "submix/base/status.h"
#include "submix/train/fine_tuning/fine_tune.h"
#include "submix/train/fine_tuning/ranks.h"

namespace submix::train {

// On the root: trains all tasks together with the other ranks, which are in ServeMembers, and
// returns when all are done. Every rank reads the public model and writes its members' directories
// itself. Null: this process alone. Errors: FineTuneMembers'; the other ranks are then on their
// own, or wait.
base::Status ShareMembers(Ranks* ranks, std::string public_directory,
                          std::span<const MemberTask> tasks, const FineTuneOptions& options,
                          base::ProgressStyle progress);

// What every rank but the root does. `options` are the root's. Errors: FineTuneMembers', with the
// rank.
base::Status ServeMembers(Ranks& ranks, const FineTuneOptions& options);

}  // namespace submix::train
