// Where the time of a step goes, as one worker sees it.
#pragma once

#include <array>
#include <chrono>

namespace submix::decode {

enum class Stage {
  kProducts,   // of the layers' weights
  kAttention,  // keys, values, attention
  kAdapters,   // low-rank products
  kHead,       // the product with the vocabulary
  kRows,       // everything that goes over rows: embedding, norms, conversions
};
inline constexpr int kNumStages = 5;

// Seconds of each stage.
using StageSeconds = std::array<double, kNumStages>;

// Attributes the time since the last mark to a stage.
class StageClock {
 public:
  void Start() { last_ = std::chrono::steady_clock::now(); }
  void Mark(Stage stage) {
    const auto now = std::chrono::steady_clock::now();
    seconds_[static_cast<std::size_t>(stage)] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }
  const StageSeconds& seconds() const { return seconds_; }

 private:
  StageSeconds seconds_{};
  std::chrono::steady_clock::time_point last_;
};

}  // namespace submix::decode
