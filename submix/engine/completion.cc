#include "submix/engine/completion.h"

#include <algorithm>
#include <utility>

namespace submix::engine {
namespace {

// Longer waits could overflow the clock.
constexpr std::chrono::nanoseconds kLongestWait = std::chrono::hours(24);

}  // namespace

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

void CompletionStream::End(CompletionEnd end, base::Status status) {
  {
    const std::lock_guard guard(mutex_);
    if (end_ != CompletionEnd::kRunning) return;
    end_ = end;
    status_ = std::move(status);
    Wake();
  }
  changed_.notify_all();
}

void CompletionStream::Cancel() {
  {
    const std::lock_guard guard(mutex_);
    events_.clear();
    if (end_ != CompletionEnd::kRunning) return;
    end_ = CompletionEnd::kCancelled;
    status_ = base::UnavailableError("the request was cancelled");
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

base::Status CompletionStream::status() const {
  const std::lock_guard guard(mutex_);
  return events_.empty() ? status_ : base::OkStatus();
}

}  // namespace submix::engine
