// The process-wide settings under which libtorch is fast and repeatable. Torch-free, so that thin
// mains can include it.
#pragma once

#include "submix/base/status.h"

namespace submix::train {

// Call first thing in main. OpenBLAS and OpenMP read their settings while they are being loaded, so
// where one of these is unset and matters, the program is started again in its place, once:
//   ATEN_CPU_CAPABILITY  torch's kernels for this processor
//   OPENBLAS_CORETYPE    Debian's OpenBLAS 0.3.21 takes processors newer than itself for a Prescott
//                        (4-5 times slower)
//   GOMP_SPINCOUNT       threads that wait do not spin for long against their neighbours
// What tensors free is kept for the next ones, not given back to the system: a step of training
// would spend up to a sixth of its time in page faults. Settings of the user are never overridden.
// Returns if there is nothing (more) to do.
void PrepareTorchProcess(char** argv);

// Threads of all tensor work; 0 means one per available processor. Results are repeatable for one
// number of threads. Errors: kInvalidArgument for a negative number.
base::Status SetTorchThreads(int threads);

// "f32" rows/s depend on it: what OpenBLAS believes this processor is, or "" if it is not OpenBLAS.
const char* BlasCoreName();

}  // namespace submix::train
