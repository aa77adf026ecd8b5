// What runs the models, as somebody asks for it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace submix::workbench {

inline constexpr char kPredictorNames[] = "cpu, torch or external:SOCKET";
inline constexpr std::string_view kExternalPrefix = "external:";

struct ModelOptions {
  std::string predictor = "cpu";  // or "torch", or "external:SOCKET"
  std::string precision = "bf16";
  int threads = 0;                // 0: all processors
  std::string kv_cache = "auto";  // or "int8"
  int sequences = 1;              // at a time, for the memory that they need
  // With what an external predictor may take for a step.
  std::chrono::nanoseconds patience = std::chrono::minutes(1);

  // What decides the numbers, for keys of checkpoints: "cpu bf16".
  std::string Description() const {
    return predictor + " " + precision + (kv_cache == "auto" ? "" : " kv " + kv_cache);
  }
};

// Whether `predictor` asks another process.
inline bool IsExternal(std::string_view predictor) {
  return predictor.starts_with(kExternalPrefix) && predictor.size() > kExternalPrefix.size();
}

// Whether `name` is one of kPredictorNames.
inline bool IsPredictor(std::string_view name) {
  return name == "cpu" || name == "torch" || IsExternal(name);
}

}  // namespace submix::workbench
