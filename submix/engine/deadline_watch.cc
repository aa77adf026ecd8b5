#include "submix/engine/deadline_watch.h"

#include <algorithm>
#include <utility>

namespace submix::engine {

DeadlineWatch::DeadlineWatch(std::chrono::nanoseconds interval, std::function<bool()> look)
    : interval_(interval), look_(std::move(look)), thread_([this] { Run(); }) {}

DeadlineWatch::~DeadlineWatch() {
  {
    const std::lock_guard guard(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void DeadlineWatch::Add(std::shared_ptr<CompletionStream> stream, Clock::time_point deadline) {
  const std::lock_guard guard(mutex_);
  open_.push_back({std::move(stream), deadline});
  changed_.notify_all();
}

void DeadlineWatch::EndAll(AnswerEnd end) {
  const std::lock_guard guard(mutex_);
  for (const Watched& watched : open_) watched.stream->End(end);
  open_.clear();
}

DeadlineWatch::Clock::time_point DeadlineWatch::EndDue() {
  const Clock::time_point now = Clock::now();
  Clock::time_point next = Clock::time_point::max();
  open_.remove_if([&](const Watched& watched) {
    if (now >= watched.deadline) watched.stream->End(AnswerEnd::kDeadline);
    if (watched.stream->has_ended()) return true;
    next = std::min(next, watched.deadline);
    return false;
  });
  return next;
}

void DeadlineWatch::Run() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    lock.unlock();
    const bool looks_again = look_();
    lock.lock();
    const Clock::time_point deadline = EndDue();
    const auto next_look = Clock::now() + interval_;
    const std::size_t known = open_.size();
    // Who comes is looked at: its deadline may be the next one.
    const auto is_new = [&] { return is_ending_ || open_.size() != known; };
    if (open_.empty() && !looks_again) {
      changed_.wait(lock, is_new);
    } else {
      changed_.wait_until(lock, std::min(deadline, next_look), is_new);
    }
  }
}

}  // namespace submix::engine
