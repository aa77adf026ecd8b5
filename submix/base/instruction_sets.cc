#include "submix/base/instruction_sets.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string>

#if defined(__x86_64__)
#include <asm/prctl.h>
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "submix/base/log.h"

namespace submix::base {
namespace {

constexpr std::string_view kSetNames[] = {"plain",       "avx2",        "avx512",
                                          "avx512_vnni", "avx512_bf16", "amx"};

#if defined(__x86_64__)
// Linux keeps the tiles' registers only for processes that have asked for them.
bool MayUseTiles() {
  constexpr unsigned kTileData = 18;
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25;  // of leaf 7's EDX
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (edx & kBf16) != 0 && (edx & kTile) != 0 && (edx & kInt8) != 0 &&
         ::syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, kTileData) == 0;
}

InstructionSet BestInstructionSet() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    return InstructionSet::kPlain;
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
    return InstructionSet::kAvx2;
  }
  if (!__builtin_cpu_supports("avx512vnni")) return InstructionSet::kAvx512;
  if (!__builtin_cpu_supports("avx512bf16")) return InstructionSet::kVnni;
  return MayUseTiles() ? InstructionSet::kAmx : InstructionSet::kBf16;
}
#else
InstructionSet BestInstructionSet() { return InstructionSet::kPlain; }
#endif

InstructionSet LimitOfEnvironment() {
  const char* const value = std::getenv("SUBMIX_MAX_CPU_ISA");
  if (value == nullptr) return InstructionSet::kAmx;
  for (std::size_t i = 0; i < std::size(kSetNames); ++i) {
    if (kSetNames[i] == value) return static_cast<InstructionSet>(i);
  }
  Log(LogSeverity::kWarning,
      "SUBMIX_MAX_CPU_ISA=" + std::string(value) +
          " is ignored: expected plain, avx2, avx512, avx512_vnni, avx512_bf16 or amx");
  return InstructionSet::kAmx;
}

std::atomic<InstructionSet>& Chosen() {
  static std::atomic<InstructionSet> chosen = std::min(BestInstructionSet(), LimitOfEnvironment());
  return chosen;
}

}  // namespace

std::string_view InstructionSetName(InstructionSet set) {
  return kSetNames[static_cast<std::size_t>(set)];
}

InstructionSet ChosenInstructionSet() { return Chosen().load(std::memory_order_relaxed); }

InstructionSet LimitInstructionSet(InstructionSet most) {
  const InstructionSet chosen = std::min(BestInstructionSet(), most);
  Chosen().store(chosen, std::memory_order_relaxed);
  return chosen;
}

}  // namespace submix::base
