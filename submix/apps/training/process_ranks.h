// The ranks among which `mpirun`, or `srun --mpi=pmix`, started this process. The one place that
// knows MPI. A process that was started alone never starts MPI, and needs none of its environment.
#pragma once

#include "submix/base/status.h"
#include "submix/train/kernels/ranks.h"

namespace submix::apps {

// How many processes were started together, by what the environment says; 1 for one alone. MPI is
// not started.
int NumStartedRanks();

// Starts MPI where several processes were started together: for a command that spreads its work,
// on every rank, on the main thread, before anything else. Null for a process alone. The ranks live
// until LeaveRanks. Errors: kUnimplemented if this program was built without MPI.
base::StatusOr<train::Ranks*> JoinRanks();

// Last in main, with its exit code, which it returns. After JoinRanks: success waits for the other
// ranks, failure ends them all.
int LeaveRanks(int exit_code);

}  // namespace submix::apps
