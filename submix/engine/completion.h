// A request on its way, seen from the client (Completion) and from the engine (CompletionStream).
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "submix/base/status.h"
#include "submix/engine/request.h"

namespace submix::engine {

// What a client is woken for.
enum class WakeFor { kEveryToken, kEnd };

// The engine's end: tokens go in, the end comes once. Thread-safe; no call waits but Next.
class CompletionStream {
 public:
  // Adds a token, unless the stream has ended. One with an end is the last one.
  void Add(TokenEvent event);
  // Ends the stream, unless it has ended. Tokens not yet taken may still be, but after kCancelled,
  // which drops them in any case.
  void End(AnswerEnd end);
  // How it has ended, whether or not tokens are still to be taken.
  AnswerEnd outcome() const;
  bool has_ended() const { return outcome() != AnswerEnd::kNotYet; }

  // See Completion.
  void SetWaker(std::function<void()> wake, WakeFor wakes_for);
  std::optional<TokenEvent> Next(std::chrono::nanoseconds timeout);
  AnswerEnd end() const;

 private:
  void Wake();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::deque<TokenEvent> events_;
  AnswerEnd end_ = AnswerEnd::kNotYet;
  std::function<void()> wake_;
  WakeFor wakes_for_ = WakeFor::kEveryToken;
};

// The client's end. One thread at a time, but Cancel, which any thread may call. Destroying it
// cancels: the sequence's rows are free within a step, what was charged stays charged. May outlive
// the scheduler.
class Completion {
 public:
  explicit Completion(std::shared_ptr<CompletionStream> stream) : stream_(std::move(stream)) {}
  ~Completion() {
    stream_->SetWaker({}, WakeFor::kEnd);
    Cancel();
  }
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  // Waits for the next token, at most `timeout` (0: does not wait) and a day. Nothing: none came in
  // time, or there is no further one, which end() tells apart. Tokens are kept until they are
  // taken, at most max_tokens of them, so that a slow client waits for nobody and nobody for it.
  std::optional<TokenEvent> Next(std::chrono::nanoseconds timeout) {
    return stream_->Next(timeout);
  }
  // From now on `wake` is called whenever a token has come, if it is for every token, and at the
  // end, by the thread that brought it, and now if it has come already. It must neither block nor
  // call this. Once the completion is destroyed, it is not called any more, nor being called.
  void SetWaker(std::function<void()> wake, WakeFor wakes_for) {
    stream_->SetWaker(std::move(wake), wakes_for);
  }
  // kNotYet until the last token was taken.
  AnswerEnd end() const { return stream_->end(); }
  base::Status status() const { return StatusOf(end()); }
  // Ends it now, unless it has ended. Tokens not yet taken are dropped.
  void Cancel() { stream_->End(AnswerEnd::kCancelled); }

 private:
  const std::shared_ptr<CompletionStream> stream_;
};

}  // namespace submix::engine
