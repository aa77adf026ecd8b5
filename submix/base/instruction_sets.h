// Vector code: compiled for several instruction sets, of which this process runs one.
//
// Loops that a compiler vectorises are a lambda given to RunVectorised. Code that writes its
// vectors out is an .inc file, which every_instruction_set.inc includes once for plain, AVX2 and
// AVX-512; SUBMIX_CHOSEN(f) is the f of the one that runs. Compiled with -ffp-contract=off, loops
// whose sums have a fixed order give the same bits with every set.
#pragma once

#include <string_view>

namespace submix::base {

// Each has what those before it have. kAvx2: with FMA. kAvx512: F, BW, DQ and VL. kVnni adds up
// products of bytes, kBf16 of bfloat16 numbers too, kAmx multiplies tiles of both.
enum class InstructionSet { kPlain, kAvx2, kAvx512, kVnni, kBf16, kAmx };

// "plain", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx".
std::string_view InstructionSetName(InstructionSet set);

// The best that this processor has, but nothing beyond the one that the environment variable
// SUBMIX_MAX_CPU_ISA names (read once). Thread-safe.
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
  const InstructionSet chosen = ChosenInstructionSet();
  if (chosen >= InstructionSet::kAvx512) return RunWithAvx512(loop);
  if (chosen >= InstructionSet::kAvx2) return RunWithAvx2(loop);
  return loop();
}

#define SUBMIX_CHOSEN(function)                                                     \
  (base::ChosenInstructionSet() >= base::InstructionSet::kAvx512 ? avx512::function \
   : base::ChosenInstructionSet() >= base::InstructionSet::kAvx2 ? avx2::function   \
                                                                 : plain::function)

}  // namespace submix::base
