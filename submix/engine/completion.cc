#include "submix/engine/completion.h"

#include <algorithm>

namespace submix::engine {
namespace {

// Longer waits could overflow the clock.
constexpr std::chrono::nanoseconds kLongestWait = std::chrono::hours(24);

}  // namespace

void CompletionStream::Add(TokenEvent event) {
  {
    const std::lock_guard guard(mutex_);
    if (end_ != AnswerEnd::kNotYet) return;
    end_ = event.end;
    events_.push_back(std::move(event));
    Wake();
  }
  changed_.notify_all();
}

void CompletionStream::End(AnswerEnd end) {
  {
    const std::lock_guard guard(mutex_);
    if (end == AnswerEnd::kCancelled) events_.clear();
    if (end_ != AnswerEnd::kNotYet) return;
    end_ = end;
    Wake();
  }
  changed_.notify_all();
}

AnswerEnd CompletionStream::outcome() const {
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
  if (wake_ && (has_token || end_ != AnswerEnd::kNotYet)) wake_();
}

std::optional<TokenEvent> CompletionStream::Next(std::chrono::nanoseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::min(timeout, kLongestWait),
                    [this] { return !events_.empty() || end_ != AnswerEnd::kNotYet; });
  if (events_.empty()) return std::nullopt;
  TokenEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

AnswerEnd CompletionStream::end() const {
  const std::lock_guard guard(mutex_);
  return events_.empty() ? end_ : AnswerEnd::kNotYet;
}

}  // namespace submix::engine
