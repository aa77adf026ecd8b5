// Soundness does not depend on this file: it makes OpenMP, OpenBLAS and libtorch fast, and keeps
// oneDNN from failing.
#pragma once

namespace submix::base {

// They read their settings from the environment while they are being loaded: call this before, in a
// program that is about to execute one that links them. Settings of the user stay.
//   GOMP_SPINCOUNT       threads that wait do not spin for long against their neighbours
//   ATEN_CPU_CAPABILITY  libtorch's kernels for a processor with AVX-512
//   OPENBLAS_CORETYPE    OpenBLAS 0.3.21 takes such processors that are newer than itself for a
//                        Prescott (4-5 times slower)
//   DNNL_PRIMITIVE_CACHE_CAPACITY  oneDNN 2.6 fails at random ("out of memory") where threads make
//                        kernels while it throws others away, as it does from the 1,025th shape on:
//                        texts of many lengths; this many it never meets
// True if that changed what a library that is loaded has read already; libtorch reads its setting
// later. Not thread-safe, as setenv is not.
bool SetMathLibraryDefaults();

}  // namespace submix::base
