#include "submix/engine/completion.h"

#include <algorithm>

#include "submix/base/check.h"
#include "submix/engine/engine_core.h"
#include "submix/engine/exhaustion.h"

namespace submix::engine {
namespace {

using base::Status;

// Longer waits could overflow the clock.
constexpr std::chrono::nanoseconds kLongestWait = std::chrono::hours(24);

}  // namespace

Status StatusOf(CompletionEnd end) {
  switch (end) {
    case CompletionEnd::kRunning:
    case CompletionEnd::kFinished:
      return base::OkStatus();
    case CompletionEnd::kCancelled:
      return base::UnavailableError("the request was cancelled");
    case CompletionEnd::kDeadline:
      return base::UnavailableError("the request's time is over");
    case CompletionEnd::kExhausted:
      return ExhaustedError();
    case CompletionEnd::kStopped:
      return base::UnavailableError("the engine stops; try again later");
    case CompletionEnd::kFailed:
      return base::UnavailableError(
          "no answers at present: a step failed or its charge could not be written down, and then "
          "nothing is released; try again later");
    case CompletionEnd::kNoPrediction:
      return NoPredictionError();
  }
  SUBMIX_CHECK(false, "an end without a status");
}

void CompletionStream::Add(TokenEvent event) {
  {
    const std::lock_guard guard(mutex_);
    if (end_ != CompletionEnd::kRunning) return;
    if (event.finish_reason != FinishReason::kNone) end_ = CompletionEnd::kFinished;
    events_.push_back(std::move(event));
    Wake();
  }
  changed_.notify_all();
}

void CompletionStream::End(CompletionEnd end) {
  {
    const std::lock_guard guard(mutex_);
    if (end == CompletionEnd::kCancelled) events_.clear();
    if (end_ != CompletionEnd::kRunning) return;
    end_ = end;
    Wake();
  }
  changed_.notify_all();
}

CompletionEnd CompletionStream::outcome() const {
  const std::lock_guard guard(mutex_);
  return end_;
}

void CompletionStream::SetWaker(std::function<void()> wake, WakeFor wakes_for) {
  const std::lock_guard guard(mutex_);
  wake_ = std::move(wake);
  wakes_for_ = wakes_for;
  Wake();
}

// Requires: mutex_ is held.
void CompletionStream::Wake() {
  const bool has_token = wakes_for_ == WakeFor::kEveryToken && !events_.empty();
  if (wake_ && (has_token || end_ != CompletionEnd::kRunning)) wake_();
}

std::optional<TokenEvent> CompletionStream::Next(std::chrono::nanoseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::min(timeout, kLongestWait),
                    [this] { return !events_.empty() || end_ != CompletionEnd::kRunning; });
  if (events_.empty()) return std::nullopt;
  TokenEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

CompletionEnd CompletionStream::end() const {
  const std::lock_guard guard(mutex_);
  return events_.empty() ? end_ : CompletionEnd::kRunning;
}

}  // namespace submix::engine
