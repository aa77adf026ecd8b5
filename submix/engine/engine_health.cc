#include "submix/engine/engine_health.h"

#include <string>
#include <utility>

#include "submix/base/log.h"

namespace submix::engine {

void LogChange(std::string_view name, bool was_ok, const base::Status& status) {
  if (status.ok() == was_ok) return;
  if (status.ok()) return base::Log(base::LogSeverity::kInfo, std::string(name) + ": well again");
  base::Log(base::LogSeverity::kError, std::string(name) + ": " + status.ToString());
}

base::Status EngineHealth::overall() const {
  const std::lock_guard guard(mutex_);
  if (!step_.ok()) return step_;
  if (base::Status stall = Stall(); !stall.ok()) return stall;
  return usage_;
}

bool EngineHealth::is_broken() const {
  const std::lock_guard guard(mutex_);
  return !step_.ok() || !usage_.ok();
}

bool EngineHealth::can_step() const {
  const std::lock_guard guard(mutex_);
  return step_.ok() && Stall().ok();
}

bool EngineHealth::LookAtStep() {
  base::Status stall;
  bool stalled_before = false;
  bool looks_again = false;
  {
    const std::lock_guard guard(mutex_);
    stall = Stall();
    stalled_before = std::exchange(stalls_, !stall.ok());
    looks_again = busy_since_ != Clock::time_point();
    Show();
  }
  LogChange("engine: a step", !stalled_before, stall);
  return looks_again;
}

void EngineHealth::Set(const char* name, const base::Status& status, base::Status& kept) {
  base::Status before;
  {
    const std::lock_guard guard(mutex_);
    before = std::exchange(kept, status);
    Show();
  }
  LogChange(name, before.ok(), status);
}

base::Status EngineHealth::Copy(const base::Status& status) const {
  const std::lock_guard guard(mutex_);
  return status;
}

void EngineHealth::SetBusy(Clock::time_point since) {
  const std::lock_guard guard(mutex_);
  busy_since_ = since;
}

base::Status EngineHealth::Stall() const {
  const bool is_busy = busy_since_ != Clock::time_point();
  if (!is_busy || Clock::now() - busy_since_ <= longest_step_) return base::OkStatus();
  return base::UnavailableError(
      "has not ended in time (timeouts.step): the ledger or the predictor does not answer, or this "
      "machine is too slow for so many sequences (engine.max_live) or prompt tokens "
      "(engine.max_prompt_tokens)");
}

void EngineHealth::Show() { gauge_ = step_.ok() && usage_.ok() && Stall().ok() ? 1 : 0; }

}  // namespace submix::engine
