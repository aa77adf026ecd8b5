// The process-wide settings under which libtorch is fast and repeatable. Torch-free, so that thin
// mains can include it.
#pragma once

#include "submix/base/status.h"

namespace submix::train {

// Call first thing in main. Where one of base::SetMathLibraryDefaults() was unset, the program is
// started again in its place, once: the libraries are loaded by now. `submix` has set them before.
// What tensors free is kept for the next ones, not given back to the system: a step of training
// would spend up to a sixth of its time in page faults. Settings of the user are never overridden.
// Returns if there is nothing (more) to do.
void PrepareTorchProcess(char** argv);

// How many threads are meant: 0 is as many as OMP_NUM_THREADS says or, where it is not set, one per
// available processor. Requires: threads >= 0.
int TorchThreads(int threads);

// Those of all tensor work. Results are repeatable for one number of threads. Errors:
// kInvalidArgument for a negative number.
base::Status SetTorchThreads(int threads);

}  // namespace submix::train
