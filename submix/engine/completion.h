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

// How a completion ended. The server's answer, if no token went out before, in parentheses.
enum class CompletionEnd {
  kRunning,
  kFinished,   // the last event's finish_reason says why (200)
  kCancelled,  // by Cancel
  kDeadline,   // the submission's deadline has passed (504)
  // The deployment's fixed number of answers is used up, and it declares that it then refuses: no
  // request will be answered any more (429 insufficient_quota).
  kExhausted,
  kStopped,  // Drain's deadline came first (503)
  kFailed,   // the engine or the ledger failed: no token without a durable charge (503)
  // The public model's numbers for this sequence are not finite; others are not concerned (500).
  kNoPrediction,
};

// What the client is told. Ok for kRunning and kFinished; for the others nothing private and no
// path: kFailedPrecondition for kExhausted, kInternal for kNoPrediction, else kUnavailable.
base::Status StatusOf(CompletionEnd end);

// What a client is woken for.
enum class WakeFor { kEveryToken, kEnd };

// The engine's end: tokens go in, the end comes once. Thread-safe; no call waits but Next.
class CompletionStream {
 public:
  // Adds a token, unless the stream has ended. One with a finish_reason is the last one.
  void Add(TokenEvent event);
  // Ends the stream, unless it has ended. Tokens not yet taken may still be, but after kCancelled,
  // which drops them in any case.
  void End(CompletionEnd end);
  // How it has ended, whether or not tokens are still to be taken.
  CompletionEnd outcome() const;
  bool has_ended() const { return outcome() != CompletionEnd::kRunning; }

  // See Completion.
  void SetWaker(std::function<void()> wake, WakeFor wakes_for);
  std::optional<TokenEvent> Next(std::chrono::nanoseconds timeout);
  CompletionEnd end() const;

 private:
  void Wake();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::deque<TokenEvent> events_;
  CompletionEnd end_ = CompletionEnd::kRunning;
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
  // kRunning until the last token was taken.
  CompletionEnd end() const { return stream_->end(); }
  base::Status status() const { return StatusOf(end()); }
  // Ends it now, unless it has ended. Tokens not yet taken are dropped.
  void Cancel() { stream_->End(CompletionEnd::kCancelled); }

 private:
  const std::shared_ptr<CompletionStream> stream_;
};

}  // namespace submix::engine
