#include "submix/base/instruction_sets.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

#include "submix/base/log.h"

namespace submix::base {
namespace {

InstructionSet BestInstructionSet() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return InstructionSet::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return InstructionSet::kAvx2;
  }
#endif
  return InstructionSet::kPlain;
}

InstructionSet LimitOfEnvironment() {
  const char* const value = std::getenv("SUBMIX_MAX_CPU_ISA");
  const std::string_view name = value == nullptr ? "avx512" : value;
  if (name == "plain") return InstructionSet::kPlain;
  if (name == "avx2") return InstructionSet::kAvx2;
  if (name != "avx512") {
    Log(LogSeverity::kWarning,
        "SUBMIX_MAX_CPU_ISA=" + std::string(name) + " is ignored: expected plain, avx2 or avx512");
  }
  return InstructionSet::kAvx512;
}

std::atomic<InstructionSet>& Chosen() {
  static std::atomic<InstructionSet> chosen = std::min(BestInstructionSet(), LimitOfEnvironment());
  return chosen;
}

}  // namespace

InstructionSet ChosenInstructionSet() { return Chosen().load(std::memory_order_relaxed); }

InstructionSet LimitInstructionSet(InstructionSet most) {
  const InstructionSet chosen = std::min(BestInstructionSet(), most);
  Chosen().store(chosen, std::memory_order_relaxed);
  return chosen;
}

}  // namespace submix::base
