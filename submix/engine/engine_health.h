// Whether answers can be given at present: what the last step and the last write of a quota ended
// with, and whether a step does not end at all.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "submix/base/status.h"

namespace submix::engine {

// Logs `status` where it is the first that is not ok, and that `name` is well again.
void LogChange(std::string_view name, bool was_ok, const base::Status& status);

// Thread-safe. Logs what changes, not each attempt.
class EngineHealth {
 public:
  // A step that takes longer than `longest_step` counts as one that does not end. `gauge` is 1
  // while all is well and 0 otherwise.
  EngineHealth(std::chrono::nanoseconds longest_step, std::atomic<std::int64_t>& gauge)
      : longest_step_(longest_step), gauge_(gauge) {}

  // Of the last step, or of the attempt to recover from it.
  void SetStep(const base::Status& status) { Set("engine: a step", status, step_); }
  base::Status step() const { return Copy(step_); }
  // Of the last attempt to write down what a key uses.
  void SetUsage(const base::Status& status) { Set("quotas", status, usage_); }
  base::Status usage() const { return Copy(usage_); }

  // The first that is not ok.
  base::Status overall() const;
  // Whether there is something to mend.
  bool is_broken() const;
  // Whether a step that began now could be expected to end well.
  bool can_step() const;

  // Where a ledger or a predictor may hold the engine's thread up.
  class Busy {
   public:
    explicit Busy(EngineHealth& health) : health_(health) { health_.SetBusy(Clock::now()); }
    ~Busy() { health_.SetBusy(Clock::time_point()); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    EngineHealth& health_;
  };

  // Logs a step that does not end, and that it has. True: it is to be called again.
  bool LookAtStep();

 private:
  using Clock = std::chrono::steady_clock;

  void Set(const char* name, const base::Status& status, base::Status& kept);
  base::Status Copy(const base::Status& status) const;
  void SetBusy(Clock::time_point since);
  // Require: mutex_ held.
  base::Status Stall() const;
  void Show();

  const std::chrono::nanoseconds longest_step_;
  std::atomic<std::int64_t>& gauge_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  base::Status step_;
  base::Status usage_;
  Clock::time_point busy_since_;  // the clock's epoch: not busy
  bool stalls_ = false;           // when it was last looked at
};

}  // namespace submix::engine
