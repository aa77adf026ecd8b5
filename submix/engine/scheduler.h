// Continuous batching: one engine thread over an EngineCore. Sequences join and leave between
// tokens; requests wait in a bounded queue, in turns between API keys; nothing that a client does,
// or fails to do, holds up the engine. Everything decided here depends on public things only.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "submix/base/digest.h"
#include "submix/base/status.h"
#include "submix/engine/completion.h"
#include "submix/engine/counters.h"
#include "submix/engine/key_usage.h"
#include "submix/engine/request.h"
#include "submix/shape/shape.h"
#include "submix/tokenizer/tokenizer.h"

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

struct SchedulerOptions {
  int max_live = 64;  // sequences in a step, >= 1
  // More that have begun and pause, so that every key has its turn (batch_turns.h), >= 0.
  int max_paused = 64;
  // Tokens of prompts that enter the models in a step for each sequence that runs, in turns between
  // keys: long prompts make a step longer by a factor, whoever sends how many. >= 1.
  int prompt_tokens = 3;
  // The most in a step; and as many enter while no sequence runs, when nobody waits for the step
  // but who wants to cancel, or to stop the engine. >= 1.
  int max_prompt_tokens = 64;
  int max_waiting = 256;         // requests in the queue, >= 1
  int max_waiting_per_key = 64;  // of one key, so that no key fills the queue for the others; >= 1
  // Each step takes a whole multiple of this, tokens leave at its end; 0: as long as it takes.
  std::chrono::nanoseconds quantum{0};
  // A step that takes longer, waiting for the ledger included: health() tells, and new requests are
  // refused until it ends. > 0.
  std::chrono::nanoseconds longest_step = std::chrono::seconds(10);
  // What the cached answers belong to: the deployment's fingerprint.
  base::Sha256Digest generation{};
};

// How long a step is made to take that took `elapsed`.
std::chrono::steady_clock::duration PaddedDuration(std::chrono::steady_clock::duration elapsed,
                                                   std::chrono::nanoseconds quantum);

// Thread-safe. Everything passed by pointer must outlive it.
class Scheduler {
 public:
  // Starts the engine thread. `usage` null: quotas are not counted; `cache` null: no cache. Errors:
  // kInvalidArgument for options out of range.
  static base::StatusOr<std::unique_ptr<Scheduler>> Start(std::unique_ptr<EngineCore> core,
                                                          const SchedulerOptions& options,
                                                          KeyUsage* usage = nullptr,
                                                          AnswerCache* cache = nullptr);
  // Drains without waiting for more than the step on its way.
  ~Scheduler();

  // Queues all choices of a call, which have one key and its quotas, or none of them: what is
  // refused is not charged and uses nothing of a quota. Does not wait for the engine, but for one
  // durable write if quotas are counted: each choice as a request, and its max_tokens in advance;
  // what was not released is given back at the end. Errors, with the server's answer in
  // parentheses:
  //   kInvalidArgument     a request itself is wrong: EngineCore::Check; or the call has more
  //                        choices than ever fit into the queue (400)
  //   kResourceExhausted   the queue is full, or the key's share of it: later (429)
  //   kFailedPrecondition  the key's quota, or the deployment's fixed number of tokens, is used
  //   up:
  //                        trying again does not help (429 insufficient_quota)
  //   kUnavailable         draining, not healthy, or the quota could not be written down (503)
  base::StatusOr<std::vector<std::unique_ptr<Completion>>> Submit(
      std::vector<Submission> submissions);
  // A call of one choice.
  base::StatusOr<std::unique_ptr<Completion>> Submit(Submission submission);

  // Graceful stop: takes no new requests, answers those that it has until `deadline`, ends the rest
  // as kStopped and stops the engine thread; returns then. A step on its way is not broken off, but
  // waited for at most a second longer: if it does not end by then, all are ended, and
  // has_stopped() is false. May be called again, by any thread: the earliest deadline counts.
  void Drain(std::chrono::steady_clock::time_point deadline);
  // Whether the engine thread has come to its end. While it has not, because a ledger does not
  // answer, the destructor waits for it; a process that must end ends without it: no token leaves
  // without its receipt.
  bool has_stopped() const;

  // Not ok: charges, or what keys use, cannot be written at present, the predictor is away, or a
  // step does not end; for /readyz. After a failed step nothing is taken until predictor and ledger
  // have recovered, which the engine tries by itself, again and again. For the operator: may name a
  // path.
  base::Status health() const;

  const Counters& counters() const;
  // What Submit would say of a request itself. Errors: EngineCore::Check's.
  base::Status Check(const Request& request) const;
  // What makes a Request::shape. Errors: EngineCore's.
  base::StatusOr<std::shared_ptr<const shape::TokenAutomaton>> CompileShape(
      const shape::ShapeRequest& request) const;
  // What makes a Request::prompt of a text, and the most tokens that prompt and answer may have
  // together.
  const tokenizer::Tokenizer& tokenizer() const;
  int context_length() const;

 private:
  class EngineLoop;
  explicit Scheduler(std::unique_ptr<EngineLoop> loop);

  const std::unique_ptr<EngineLoop> loop_;
};

}  // namespace submix::engine
