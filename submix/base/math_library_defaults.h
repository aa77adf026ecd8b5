// Soundness does not depend on this file: it makes OpenMP, OpenBLAS and libtorch fast.
#pragma once

namespace submix::base {

// They read their settings from the environment while they are being loaded: call this before, in a
// program that is about to execute one that links them. Settings of the user stay.
//   GOMP_SPINCOUNT       threads that wait do not spin for long against their neighbours
//   ATEN_CPU_CAPABILITY  libtorch's kernels for a processor with AVX-512
//   OPENBLAS_CORETYPE    OpenBLAS 0.3.21 takes such processors that are newer than itself for a
//                        Prescott (4-5 times slower)
// True if that changed what a library that is loaded has read already; libtorch reads its setting
// later. Not thread-safe, as setenv is not.
bool SetMathLibraryDefaults();

}  // namespace submix::base
