#include "submix/engine/scheduler.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/log.h"
#include "submix/engine/answer_cache.h"
#include "submix/engine/engine_core.h"
#include "submix/engine/fair_queue.h"

namespace submix::engine {
namespace {

using base::Status;
using base::StatusOr;
using Clock = std::chrono::steady_clock;

// Between two attempts to mend what a step, or a quota's file, failed at.
constexpr std::chrono::milliseconds kMendInterval{500};

Status CheckOptions(const SchedulerOptions& options) {
  if (options.max_live < 1 || options.max_waiting < 1 || options.max_waiting_per_key < 1) {
    return base::InvalidArgumentError(
        "scheduler: expected at least 1 for the live, the waiting and a key's waiting requests");
  }
  if (options.quantum < std::chrono::nanoseconds(0)) {
    return base::InvalidArgumentError("scheduler: the quantum must not be negative");
  }
  return base::OkStatus();
}

// What the client of an ended request is told.
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

std::atomic<std::int64_t>& CounterOf(CompletionEnd end, Counters& counters) {
  switch (end) {
    case CompletionEnd::kFinished:
      return counters.finished;
    case CompletionEnd::kDeadline:
      return counters.deadlines;
    case CompletionEnd::kExhausted:
      return counters.refused_exhausted;
    case CompletionEnd::kStopped:
      return counters.stopped;
    case CompletionEnd::kFailed:
    case CompletionEnd::kNoPrediction:
      return counters.failed;
    default:
      return counters.cancelled;
  }
}

std::atomic<std::int64_t>& RefusalCounterOf(base::StatusCode code, Counters& counters) {
  switch (code) {
    case base::StatusCode::kInvalidArgument:
      return counters.refused_invalid;
    case base::StatusCode::kResourceExhausted:
      return counters.refused_full;
    case base::StatusCode::kFailedPrecondition:
      return counters.refused_quota;
    default:
      return counters.refused_unavailable;
  }
}

// A request between Submit and its end.
struct Ticket {
  Submission submission;
  std::shared_ptr<CompletionStream> stream;
  int released = 0;
  std::vector<TokenEvent> kept;  // for the cache
};

}  // namespace

Clock::duration PaddedDuration(Clock::duration elapsed, std::chrono::nanoseconds quantum) {
  if (quantum <= std::chrono::nanoseconds(0)) return elapsed;
  return (elapsed + quantum - Clock::duration(1)) / quantum * quantum;
}

// Lock order: mutex_, then a stream's or the usage's own.
class Scheduler::Engine {
 public:
  Engine(std::unique_ptr<EngineCore> core, const SchedulerOptions& options, KeyUsage* usage,
         AnswerCache* cache)
      : core_(std::move(core)),
        options_(options),
        usage_(usage),
        cache_(cache),
        waiting_(static_cast<std::size_t>(options.max_waiting),
                 static_cast<std::size_t>(options.max_waiting_per_key)),
        thread_([this] { Run(); }) {}
  ~Engine() {
    Drain(Clock::time_point::min());
    thread_.join();
  }

  StatusOr<std::unique_ptr<Completion>> Submit(Submission submission) {
    ++counters_.requests;
    auto completion = TrySubmit(std::move(submission));
    if (completion.ok()) return completion;
    auto& counter =
        exhausted_ && completion.status().code() == base::StatusCode::kFailedPrecondition
            ? counters_.refused_exhausted
            : RefusalCounterOf(completion.status().code(), counters_);
    ++counter;
    return completion;
  }

  void Drain(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    draining_ = true;
    drain_deadline_ = std::min(drain_deadline_, deadline);
    changed_.notify_all();
    changed_.wait(lock, [this] { return stopped_; });
  }

  Status health() const {
    const std::lock_guard guard(mutex_);
    return step_health_.ok() ? usage_health_ : step_health_;
  }

  const Counters& counters() const { return counters_; }
  const EngineCore& core() const { return *core_; }

 private:
  // By clients' threads.

  StatusOr<std::unique_ptr<Completion>> TrySubmit(Submission submission) {
    SUBMIX_RETURN_IF_ERROR(core_->Check(submission.request));
    SUBMIX_RETURN_IF_ERROR(CheckTakesRequests());
    if (auto cached = FindCached(submission)) return FromCache(submission, *cached);
    if (exhausted_) return ExhaustedError();
    {
      // Before the reservation, which costs a write.
      const std::lock_guard guard(mutex_);
      SUBMIX_RETURN_IF_ERROR(CheckRoom(submission.key));
    }
    SUBMIX_RETURN_IF_ERROR(Reserve(submission, submission.request.max_tokens));
    Ticket ticket{std::move(submission), std::make_shared<CompletionStream>(), 0, {}};
    auto completion = std::make_unique<Completion>(ticket.stream, /*is_cached=*/false);
    const std::lock_guard guard(mutex_);
    if (Status room = CheckRoom(ticket.submission.key); !room.ok()) {
      GiveBackUnused(ticket);
      return room;
    }
    const std::string key = ticket.submission.key;
    waiting_.Push(key, std::move(ticket));
    ShowQueue();
    changed_.notify_all();
    return completion;
  }

  CachedAnswer FindCached(const Submission& submission) {
    if (!Caches(submission)) return nullptr;
    return cache_->Find(submission.key, options_.generation, submission.request);
  }

  // Costs nobody anything: the ledger knows nothing of it, the quota counts the request alone.
  StatusOr<std::unique_ptr<Completion>> FromCache(const Submission& submission,
                                                  const std::vector<TokenEvent>& events) {
    SUBMIX_RETURN_IF_ERROR(Reserve(submission, 0));
    const auto stream = std::make_shared<CompletionStream>();
    for (const TokenEvent& event : events) stream->Add(event);
    ++counters_.cache_hits;
    ++counters_.finished;
    return std::make_unique<Completion>(stream, /*is_cached=*/true);
  }

  Status CheckTakesRequests() const {
    const std::lock_guard guard(mutex_);
    return draining_ ? StatusOf(CompletionEnd::kStopped) : base::OkStatus();
  }

  // Requires: mutex_ held.
  Status CheckRoom(const std::string& key) const {
    if (draining_) return StatusOf(CompletionEnd::kStopped);
    if (!step_health_.ok()) return StatusOf(CompletionEnd::kFailed);
    if (waiting_.has_room_for(key)) return base::OkStatus();
    return base::ResourceExhaustedError("too many requests are waiting; try again later");
  }

  bool Counts(const Submission& submission) const {
    return usage_ != nullptr && !submission.key.empty();
  }
  bool Caches(const Submission& submission) const {
    return cache_ != nullptr && submission.may_use_cache;
  }

  Status Reserve(const Submission& submission, std::int64_t tokens) {
    if (!Counts(submission)) return base::OkStatus();
    Status status = usage_->Reserve(submission.key, submission.quotas, tokens);
    if (status.code() == base::StatusCode::kFailedPrecondition) return status;
    SetUsageHealth(status);
    if (status.ok()) return status;
    return base::UnavailableError(
        "no answers at present: the use of the key could not be written down; try again later");
  }

  // By clients and by the engine's thread.
  void SetHealth(const std::string& name, const Status& status, Status& health) {
    Status before;
    {
      const std::lock_guard guard(mutex_);
      before = std::exchange(health, status);
      counters_.healthy = IsBroken() ? 0 : 1;
      changed_.notify_all();
    }
    // What changes, not each attempt.
    if (status.ok() && !before.ok()) base::Log(base::LogSeverity::kInfo, name + ": well again");
    if (!status.ok() && before.ok()) {
      base::Log(base::LogSeverity::kError, name + ": " + status.ToString());
    }
  }
  void SetStepHealth(const Status& status) { SetHealth("engine: a step", status, step_health_); }
  void SetUsageHealth(const Status& status) { SetHealth("quotas", status, usage_health_); }

  // By the engine's thread, and by Submit for a ticket that does not get in.
  void GiveBackUnused(const Ticket& ticket) {
    if (!Counts(ticket.submission)) return;
    usage_->GiveBack(ticket.submission.key, ticket.submission.request.max_tokens - ticket.released);
  }

  // Requires: mutex_ held.
  void ShowQueue() { counters_.waiting = static_cast<std::int64_t>(waiting_.size()); }

  // By the engine's thread.

  void Run() {
    while (WaitForWork()) {
      Mend();
      DropEnded();
      AdmitWaiting();
      ShowLive();
      if (!live_.empty()) Step();
      ShowLive();
    }
    StopAll();
  }

  void ShowLive() { counters_.live = static_cast<std::int64_t>(live_.size()); }

  // False: time to stop.
  bool WaitForWork() {
    std::unique_lock lock(mutex_);
    const auto is_work = [this] { return draining_ || !live_.empty() || waiting_.size() > 0; };
    changed_.wait(lock, [&] { return is_work() || IsBroken(); });
    if (IsBroken()) changed_.wait_until(lock, next_mend_, is_work);
    if (!draining_) return true;
    return (!live_.empty() || waiting_.size() > 0) && Clock::now() < drain_deadline_;
  }

  // Requires: mutex_ held.
  bool IsBroken() const { return !step_health_.ok() || !usage_health_.ok(); }

  Status GuardedCopy(const Status& status) const {
    const std::lock_guard guard(mutex_);
    return status;
  }

  // Tries to mend what is broken, at most once an interval. While no step can charge nobody waits.
  void Mend() {
    if (health().ok() || Clock::now() < next_mend_) return;
    if (!GuardedCopy(usage_health_).ok()) SetUsageHealth(usage_->Write());
    if (!GuardedCopy(step_health_).ok()) SetStepHealth(core_->Recover());
    next_mend_ = Clock::now() + kMendInterval;
    if (GuardedCopy(step_health_).ok()) return;
    while (std::optional<Ticket> ticket = PopWaiting()) Settle(*ticket, CompletionEnd::kFailed);
  }

  // Ends a request for good, as `end` unless its client was first.
  void Settle(const Ticket& ticket, CompletionEnd end) {
    GiveBackUnused(ticket);
    if (ticket.stream->has_ended()) end = CompletionEnd::kCancelled;
    ++CounterOf(end, counters_);
    ticket.stream->End(end, StatusOf(end));
  }

  // True if the request must not go on.
  static bool IsOver(const Ticket& ticket, Clock::time_point now) {
    return ticket.stream->has_ended() || now >= ticket.submission.deadline;
  }

  void DropEnded() {
    const Clock::time_point now = Clock::now();
    for (auto it = live_.begin(); it != live_.end();) {
      if (!IsOver(it->second, now)) {
        ++it;
        continue;
      }
      core_->Cancel(it->first);
      Settle(it->second, CompletionEnd::kDeadline);
      it = live_.erase(it);
    }
    const std::lock_guard guard(mutex_);
    waiting_.EraseIf([&](const Ticket& ticket) {
      if (!IsOver(ticket, now)) return false;
      Settle(ticket, CompletionEnd::kDeadline);
      return true;
    });
    ShowQueue();
  }

  std::optional<Ticket> PopWaiting() {
    const std::lock_guard guard(mutex_);
    std::optional<Ticket> ticket = waiting_.Pop();
    ShowQueue();
    return ticket;
  }

  void AdmitWaiting() {
    while (live_.size() < static_cast<std::size_t>(options_.max_live)) {
      std::optional<Ticket> ticket = PopWaiting();
      if (!ticket) return;
      if (exhausted_) {
        Settle(*ticket, CompletionEnd::kExhausted);
        continue;
      }
      const auto id = core_->Admit(ticket->submission.request);
      SUBMIX_CHECK(id.ok(), "Submit lets only requests in that Admit takes");
      counters_.prompt_tokens +=
          static_cast<std::int64_t>(ticket->submission.request.prompt.size());
      live_.emplace(*id, std::move(*ticket));
    }
  }

  void Step() {
    const Clock::time_point start = Clock::now();
    const auto events = core_->Step();
    std::this_thread::sleep_until(start + PaddedDuration(Clock::now() - start, options_.quantum));
    counters_.steps.Add(Clock::now() - start);
    if (!events.ok()) {
      FailLive(events.status());
      return;
    }
    for (const TokenEvent& event : *events) Deliver(event);
  }

  void FailLive(const Status& status) {
    ++counters_.failed_steps;
    SetStepHealth(status);
    EndLive(CompletionEnd::kFailed);
    next_mend_ = Clock::now();
  }

  void EndLive(CompletionEnd end) {
    for (const auto& [id, ticket] : live_) {
      core_->Cancel(id);
      Settle(ticket, end);
    }
    live_.clear();
  }

  void Deliver(const TokenEvent& event) {
    const auto found = live_.find(event.request_id);
    SUBMIX_CHECK(found != live_.end(), "a token without a request");
    Ticket& ticket = found->second;
    if (event.finish_reason == FinishReason::kExhausted) {
      exhausted_ = true;
      Settle(ticket, CompletionEnd::kExhausted);
      live_.erase(found);
      return;
    }
    if (event.finish_reason == FinishReason::kNoPrediction) {
      base::Log(base::LogSeverity::kError,
                "engine: the public model's numbers for a sequence are not finite: its weights, or "
                "its arithmetic, are damaged");
      Settle(ticket, CompletionEnd::kNoPrediction);
      live_.erase(found);
      return;
    }
    ++ticket.released;
    ++counters_.tokens;
    if (Caches(ticket.submission)) ticket.kept.push_back(event);
    if (event.finish_reason == FinishReason::kNone) {
      ticket.stream->Add(event);
      return;
    }
    // Everything else first: who has seen the last token finds it done.
    if (Caches(ticket.submission)) {
      cache_->Insert(ticket.submission.key, options_.generation, ticket.submission.request,
                     std::move(ticket.kept));
    }
    const auto stream = ticket.stream;
    GiveBackUnused(ticket);
    ++counters_.finished;
    live_.erase(found);
    stream->Add(event);
  }

  void StopAll() {
    EndLive(CompletionEnd::kStopped);
    ShowLive();
    while (std::optional<Ticket> ticket = PopWaiting()) Settle(*ticket, CompletionEnd::kStopped);
    const std::lock_guard guard(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

  const std::unique_ptr<EngineCore> core_;  // the engine thread's, but Check and the constants
  const SchedulerOptions options_;
  KeyUsage* const usage_;
  AnswerCache* const cache_;
  Counters counters_;
  // The answers are used up and will stay so: a budget is never reset.
  std::atomic<bool> exhausted_ = false;
  std::unordered_map<std::int64_t, Ticket> live_;  // the engine thread's

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  FairQueue<Ticket> waiting_;
  bool draining_ = false;
  bool stopped_ = false;
  Clock::time_point drain_deadline_ = Clock::time_point::max();
  Status step_health_;   // of the last step, or of the attempt to recover from it
  Status usage_health_;  // of the last attempt to write down what a key uses

  Clock::time_point next_mend_;  // the engine thread's

  std::thread thread_;  // last: it sees everything above
};

Scheduler::Scheduler(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

Scheduler::~Scheduler() = default;

StatusOr<std::unique_ptr<Scheduler>> Scheduler::Start(std::unique_ptr<EngineCore> core,
                                                      const SchedulerOptions& options,
                                                      KeyUsage* usage, AnswerCache* cache) {
  SUBMIX_RETURN_IF_ERROR(CheckOptions(options));
  return std::unique_ptr<Scheduler>(
      new Scheduler(std::make_unique<Engine>(std::move(core), options, usage, cache)));
}

StatusOr<std::unique_ptr<Completion>> Scheduler::Submit(Submission submission) {
  return engine_->Submit(std::move(submission));
}

void Scheduler::Drain(Clock::time_point deadline) { engine_->Drain(deadline); }

Status Scheduler::health() const { return engine_->health(); }

const Counters& Scheduler::counters() const { return engine_->counters(); }

std::vector<base::TokenId> Scheduler::Encode(std::string_view text) const {
  return engine_->core().tokenizer().Encode(text);
}

int Scheduler::context_length() const { return engine_->core().context_length(); }

}  // namespace submix::engine
