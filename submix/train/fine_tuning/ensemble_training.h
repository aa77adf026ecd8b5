// From a user-keyed corpus to an ensemble directory (SubMix, Algorithm 1; recipes/ensemble_plan.h).
// A member without text is the public model, in files of the same shape as any other's. Resumable:
// finished members are kept, an unfinished one goes on at its last checkpoint. Torch-free.
#pragma once

#include "submix/base/progress_bar.h"
#include "submix/base/status.h"
#include "submix/train/fine_tuning/fine_tune.h"
#include "submix/train/kernels/ranks.h"
#include "submix/train/recipes/ensemble_plan.h"

namespace submix::train {

// Trains what is missing. `ranks` are whom the members are spread over: this process is the root,
// the others are in ServeMembers, with the same options.fine_tune. Null: this process alone. The
// members' bits do not depend on it. Errors: those of EnsemblePlan and FineTuneMembers. After an
// error the other ranks wait, and are to be ended.
base::Status TrainEnsemble(const EnsembleTrainingOptions& options, base::ProgressStyle progress,
                           Ranks* ranks = nullptr);

// What every rank but the root does. `options` are the root's. Errors: FineTuneMembers', with the
// rank.
base::Status ServeMembers(Ranks& ranks, const FineTuneOptions& options);

}  // namespace submix::train
