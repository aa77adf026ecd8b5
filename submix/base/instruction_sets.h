// Vector code: compiled for three instruction sets, of which this process runs one.
//
// Loops that a compiler vectorises are a lambda given to RunVectorised. Code that writes its
// vectors out is an .inc file, which every_instruction_set.inc includes once a set;
// SUBMIX_CHOSEN(f) is the f of the set that runs. Compiled with -ffp-contract=off, loops whose sums
// have a fixed order give the same bits with every set.
#pragma once

namespace submix::base {

// kAvx2: with FMA. kAvx512: F, BW, DQ and VL.
enum class InstructionSet { kPlain, kAvx2, kAvx512 };

// The best that this processor has, but nothing beyond what the environment variable
// SUBMIX_MAX_CPU_ISA names (plain, avx2 or avx512; read once). oneDNN has a switch of its own,
// ONEDNN_MAX_CPU_ISA. Thread-safe.
InstructionSet ChosenInstructionSet();

// Chooses again, nothing beyond `most`: for tests. Returns what is in use. Not while a kernel runs.
InstructionSet LimitInstructionSet(InstructionSet most);

#if defined(__x86_64__)
#define SUBMIX_AVX2 __attribute__((target("avx2,fma")))
#define SUBMIX_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define SUBMIX_AVX2
#define SUBMIX_AVX512
#endif

// Written after the parameters of a lambda for RunVectorised.
#define SUBMIX_VECTOR_LOOP __attribute__((always_inline))

template <typename Loop>
SUBMIX_AVX2 auto RunWithAvx2(Loop loop) {
  return loop();
}
template <typename Loop>
SUBMIX_AVX512 auto RunWithAvx512(Loop loop) {
  return loop();
}

// Returns loop(), compiled for the chosen set: RunVectorised([=]() SUBMIX_VECTOR_LOOP { … }).
template <typename Loop>
auto RunVectorised(Loop loop) {
  switch (ChosenInstructionSet()) {
    case InstructionSet::kAvx512:
      return RunWithAvx512(loop);
    case InstructionSet::kAvx2:
      return RunWithAvx2(loop);
    case InstructionSet::kPlain:
      break;
  }
  return loop();
}

#define SUBMIX_CHOSEN(function)                                                     \
  (base::ChosenInstructionSet() == base::InstructionSet::kAvx512 ? avx512::function \
   : base::ChosenInstructionSet() == base::InstructionSet::kAvx2 ? avx2::function   \
                                                                 : plain::function)

}  // namespace submix::base
