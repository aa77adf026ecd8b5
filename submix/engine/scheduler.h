// Continuous batching: one engine thread over an EngineCore. Sequences join and leave between
// tokens; requests wait in a bounded queue, in turns between API keys; nothing that a client does,
// or fails to do, holds up the engine. Everything decided here depends on public things only.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/digest.h"
#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/engine/counters.h"
#include "submix/engine/key_usage.h"
#include "submix/engine/request.h"

namespace submix::engine {

class AnswerCache;
class EngineCore;

// One request of one client. A request for n answers is n submissions.
struct Submission {
  Request request;
  std::string key;   // id of the API key it is counted for; empty: no keys, nothing is counted
  KeyQuotas quotas;  // that key's
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // May be answered from the cache, if there is one, and be kept there. False for n > 1 and for
  // clients that say no-cache.
  bool may_use_cache = true;
};

// How a completion ended. The server's answer, if no token went out before, in parentheses.
enum class CompletionEnd {
  kRunning,
  kFinished,   // the last event's finish_reason says why (200)
  kCancelled,  // by Cancel
  kDeadline,   // the submission's deadline has passed (408 or 504)
  // The deployment's fixed number of answers is used up, and it declares that it then refuses: no
  // request will be answered any more (429 insufficient_quota).
  kExhausted,
  kStopped,  // Drain's deadline came first (503)
  kFailed,   // the engine or the ledger failed: no token without a durable charge (503)
};

class CompletionStream;

// The client's end of a running request. One thread at a time, but Cancel, which any thread may
// call. Destroying it cancels: the sequence's rows are free within a step, what was charged stays
// charged. May outlive the scheduler.
class Completion {
 public:
  explicit Completion(std::shared_ptr<CompletionStream> stream);
  ~Completion();
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  // Waits for the next token, at most `timeout` (0: does not wait). Nothing: none came in time, or
  // there is no further one, which end() tells apart. Tokens are kept until they are taken, at most
  // max_tokens of them, so that a slow client waits for nobody and nobody for it.
  std::optional<TokenEvent> Next(std::chrono::nanoseconds timeout);
  // kRunning until the last token was taken.
  CompletionEnd end() const;
  // Ok while end() is kRunning or kFinished; otherwise what the client may be told: nothing private
  // and no path. kFailedPrecondition for kExhausted, kUnavailable for the others.
  base::Status status() const;
  // Ends it now, unless it has ended. Tokens not yet taken are dropped.
  void Cancel();
  // True if the tokens are an earlier answer's, from the cache.
  bool is_cached() const;

 private:
  const std::shared_ptr<CompletionStream> stream_;
};

struct SchedulerOptions {
  int max_live = 64;             // sequences in a step, >= 1
  int max_waiting = 256;         // requests in the queue, >= 1
  int max_waiting_per_key = 64;  // of one key, so that no key fills the queue for the others; >= 1
  // Each step takes a whole multiple of this, tokens leave at its end; 0: as long as it takes.
  std::chrono::nanoseconds quantum{0};
  // What the cached answers belong to: the deployment's fingerprint.
  base::Sha256Digest generation{};
};

// Thread-safe. Everything passed by pointer must outlive it.
class Scheduler {
 public:
  // Starts the engine thread. `usage` null: quotas are not counted; `cache` null: no cache. Errors:
  // kInvalidArgument for options out of range.
  static base::StatusOr<std::unique_ptr<Scheduler>> Start(std::unique_ptr<EngineCore> core,
                                                          const SchedulerOptions& options,
                                                          KeyUsage* usage = nullptr,
                                                          AnswerCache* cache = nullptr);
  // Drains without waiting.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Queues a request; does not wait for the engine, but for one durable write if quotas are
  // counted: max_tokens are counted in advance, and what was not released is given back at the end.
  // Errors, with the server's answer in parentheses:
  //   kInvalidArgument     the request itself is wrong: EngineCore::Check (400)
  //   kResourceExhausted   the queue is full, or the key's share of it: later (429 or 503)
  //   kFailedPrecondition  the key's quota, or the deployment's fixed number of answers, is used
  //   up:
  //                        trying again does not help (429 insufficient_quota)
  //   kUnavailable         draining, or the quota could not be written down (503)
  base::StatusOr<std::unique_ptr<Completion>> Submit(Submission submission);

  // Graceful stop: takes no new requests, answers those that it has until `deadline`, ends the rest
  // as kStopped and stops the engine thread; returns then. A step on its way is not broken off. May
  // be called again, by any thread: the earliest deadline counts.
  void Drain(std::chrono::steady_clock::time_point deadline);

  // Ok if the last step went well (or there was none): for /readyz. After a failed step the engine
  // goes on with the next request by itself. For the operator: may name a path.
  base::Status health() const;

  const Counters& counters() const;
  // The tokens of a text, for Request::prompt, and the most that prompt and answer may have
  // together.
  std::vector<base::TokenId> Encode(std::string_view text) const;
  int context_length() const;

 private:
  class Engine;

  explicit Scheduler(std::unique_ptr<Engine> engine);

  const std::unique_ptr<Engine> engine_;
};

}  // namespace submix::engine
