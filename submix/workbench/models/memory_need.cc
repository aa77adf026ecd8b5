#include "submix/workbench/models/memory_need.h"

#include <string>

#include "submix/base/log.h"
#include "submix/base/memory_limit.h"

namespace submix::workbench {
namespace {

std::string MebibyteText(std::size_t bytes) {
  return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

}  // namespace

base::Status CheckMemory(const decode::CpuPredictorOptions& options, int sequences) {
  constexpr std::size_t kMuch = std::size_t{1} << 30;
  SUBMIX_ASSIGN_OR_RETURN(const auto memory, decode::CpuPredictor::Plan(options));
  const auto count = static_cast<std::size_t>(sequences);
  // Logits in float, and the pmfs in double that a mechanism makes of them.
  const std::size_t predictions = count * memory.logits_per_sequence * 3;
  const std::size_t contexts = count * memory.cache_per_16_tokens;
  const std::size_t bytes = memory.weights + memory.adapters + predictions + contexts;
  const std::string text =
      options.public_directory + ": needs " + MebibyteText(bytes) + " of memory (weights " +
      MebibyteText(memory.weights) + ", adapters " + MebibyteText(memory.adapters) +
      ", predictions for " + std::to_string(sequences) + " at a time " + MebibyteText(predictions) +
      ") and for each further 16 tokens of all contexts " + MebibyteText(contexts);
  if (const std::size_t limit = base::MemoryLimit(); bytes > limit) {
    return base::ResourceExhaustedError(
        text + "; this machine, or this process's control group, has " + MebibyteText(limit) +
        ": take a smaller --precision, --kv-cache int8, fewer members or fewer sequences at a "
        "time");
  }
  if (bytes >= kMuch) base::Log(base::LogSeverity::kInfo, text);
  return base::OkStatus();
}

}  // namespace submix::workbench
