#include "submix/engine/scheduler.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/log.h"
#include "submix/engine/answer_cache.h"
#include "submix/engine/batch_turns.h"
#include "submix/engine/deadline_watch.h"
#include "submix/engine/engine_core.h"
#include "submix/engine/engine_health.h"
#include "submix/engine/fair_queue.h"
#include "submix/engine/prompt_turns.h"

namespace submix::engine {
namespace {

using base::Status;
using base::StatusOr;
using Clock = std::chrono::steady_clock;

// Between two attempts to mend what a step, or a quota's file, failed at; and between two looks at
// the predictor of an idle engine.
constexpr std::chrono::milliseconds kMendInterval{500};

// How long Drain waits beyond its deadline for the step on its way.
constexpr std::chrono::seconds kStepPatience{1};

Status CheckOptions(const SchedulerOptions& options) {
  if (options.max_live < 1 || options.max_paused < 0 || options.max_waiting < 1 ||
      options.max_waiting_per_key < 1) {
    return base::InvalidArgumentError(
        "scheduler: expected at least 1 for the live, the waiting and a key's waiting requests, "
        "and 0 for the paused ones");
  }
  if (options.prompt_tokens < 1 || options.max_prompt_tokens < 1) {
    return base::InvalidArgumentError("scheduler: expected at least 1 prompt token a step");
  }
  if (options.quantum < std::chrono::nanoseconds(0) ||
      options.longest_step <= std::chrono::nanoseconds(0)) {
    return base::InvalidArgumentError(
        "scheduler: the quantum must not be negative, the longest step must be positive");
  }
  return base::OkStatus();
}

// A request between Submit and its end.
struct Ticket {
  Submission submission;
  std::shared_ptr<CompletionStream> stream;
  int released = 0;
  std::vector<TokenEvent> kept;  // for the cache
};
using Tickets = std::unordered_map<std::int64_t, Ticket>;  // by EngineCore's id

}  // namespace

// Lock order: mutex_, then the watch's, then a stream's; or the health's or the usage's own.
class Scheduler::EngineLoop {
 public:
  EngineLoop(std::unique_ptr<EngineCore> core, const SchedulerOptions& options, KeyUsage* usage,
             AnswerCache* cache)
      : core_(std::move(core)),
        options_(options),
        usage_(usage),
        cache_(cache),
        health_(options.longest_step, counters_.healthy),
        batch_(options.max_live, options.max_paused),
        waiting_(static_cast<std::size_t>(options.max_waiting),
                 static_cast<std::size_t>(options.max_waiting_per_key)),
        watch_(options.longest_step / 4, [this] { return health_.LookAtStep(); }),
        thread_([this] { Run(); }) {}
  ~EngineLoop() {
    Drain(Clock::time_point::min());
    thread_.join();
  }

  StatusOr<std::vector<std::unique_ptr<Completion>>> Submit(std::vector<Submission> submissions) {
    const auto count = std::ssize(submissions);
    counters_.requests += count;
    auto completions = TrySubmit(std::move(submissions));
    if (completions.ok()) return completions;
    auto& counter =
        exhausted_ && completions.status().code() == base::StatusCode::kFailedPrecondition
            ? counters_.refused_exhausted
            : RefusalCounterOf(completions.status().code(), counters_);
    counter += count;
    return completions;
  }

  void Drain(Clock::time_point deadline) {
    const auto now = Clock::now();
    const auto last = std::clamp(deadline, now, now + std::chrono::years(1)) + kStepPatience;
    {
      std::unique_lock lock(mutex_);
      draining_ = true;
      drain_deadline_ = std::min(drain_deadline_, deadline);
      changed_.notify_all();
      if (changed_.wait_until(lock, last, [this] { return stopped_; })) return;
    }
    watch_.EndAll(AnswerEnd::kStopped);
  }

  bool has_stopped() const {
    const std::lock_guard guard(mutex_);
    return stopped_;
  }

 private:
  friend class Scheduler;

  // By clients' threads.

  StatusOr<std::vector<std::unique_ptr<Completion>>> TrySubmit(std::vector<Submission> call) {
    SUBMIX_CHECK(!call.empty(), "a call without a choice");
    const std::string key = call.front().key;
    const KeyQuotas quotas = call.front().quotas;
    for (const Submission& submission : call) {
      SUBMIX_CHECK(submission.key == key, "the choices of a call have one key");
      SUBMIX_RETURN_IF_ERROR(core_->Check(submission.request));
    }
    SUBMIX_RETURN_IF_ERROR(CheckTakesRequests());
    std::vector<std::unique_ptr<Completion>> completions;
    std::vector<Ticket> tickets;
    KeyUse use;
    for (Submission& submission : call) {
      const auto stream = std::make_shared<CompletionStream>();
      const CachedAnswer cached = FindCached(submission);
      completions.push_back(std::make_unique<Completion>(stream));
      use += {cached != nullptr ? 0 : submission.request.max_tokens, 1};
      if (cached == nullptr) {
        tickets.push_back({std::move(submission), stream, 0, {}});
      } else {
        for (const TokenEvent& event : *cached) stream->Add(event);
      }
    }
    const auto hits = std::ssize(completions) - std::ssize(tickets);
    SUBMIX_RETURN_IF_ERROR(Enter(key, quotas, use, std::move(tickets)));
    // They cost nobody anything: the ledger knows nothing of them, the quota counts the requests.
    counters_.cache_hits += hits;
    counters_.finished += hits;
    return completions;
  }

  CachedAnswer FindCached(const Submission& submission) {
    if (!Caches(submission)) return nullptr;
    return cache_->Find(submission.key, options_.generation, submission.request);
  }

  // Reserves what the call uses and queues its tickets, or does nothing.
  Status Enter(const std::string& key, const KeyQuotas& quotas, KeyUse use,
               std::vector<Ticket> tickets) {
    if (exhausted_ && !tickets.empty()) return StatusOf(AnswerEnd::kExhausted);
    {
      // Before the reservation, which costs a write.
      const std::lock_guard guard(mutex_);
      SUBMIX_RETURN_IF_ERROR(CheckRoom(key, tickets.size()));
    }
    SUBMIX_RETURN_IF_ERROR(Reserve(key, quotas, use));
    const std::lock_guard guard(mutex_);
    if (Status room = CheckRoom(key, tickets.size()); !room.ok()) {
      if (Counts(key)) usage_->GiveBack(key, use);
      return room;
    }
    for (Ticket& ticket : tickets) {
      watch_.Add(ticket.stream, ticket.submission.deadline);
      waiting_.Push(key, std::move(ticket));
    }
    ShowQueue();
    changed_.notify_all();
    return base::OkStatus();
  }

  Status CheckTakesRequests() const {
    const std::lock_guard guard(mutex_);
    return draining_ ? StatusOf(AnswerEnd::kStopped) : base::OkStatus();
  }

  // Requires: mutex_ held.
  Status CheckRoom(const std::string& key, std::size_t count) const {
    if (count == 0) return base::OkStatus();
    if (draining_) return StatusOf(AnswerEnd::kStopped);
    if (!health_.can_step()) return StatusOf(AnswerEnd::kFailed);
    if (waiting_.has_room_for(key, count)) return base::OkStatus();
    const int most = std::min(options_.max_waiting, options_.max_waiting_per_key);
    if (std::cmp_greater(count, most)) {
      return base::InvalidArgumentError("prompts x n is " + std::to_string(count) + ": at most " +
                                        std::to_string(most) + " may wait at once");
    }
    return base::ResourceExhaustedError("too many requests are waiting; try again later");
  }

  bool Counts(const std::string& key) const { return usage_ != nullptr && !key.empty(); }
  bool Caches(const Submission& submission) const {
    return cache_ != nullptr && submission.may_use_cache;
  }

  Status Reserve(const std::string& key, const KeyQuotas& quotas, KeyUse use) {
    if (!Counts(key)) return base::OkStatus();
    Status status = usage_->Reserve(key, quotas, use);
    if (status.code() == base::StatusCode::kFailedPrecondition) return status;
    SetUsageHealth(status);
    if (status.ok()) return status;
    return base::UnavailableError(
        "no answers at present: the use of the key could not be written down; try again later");
  }

  // By clients and by the engine's thread. What is broken the engine mends.
  void SetUsageHealth(const Status& status) {
    health_.SetUsage(status);
    const std::lock_guard guard(mutex_);
    changed_.notify_all();
  }

  // Requires: mutex_ held.
  void ShowQueue() { counters_.waiting = static_cast<std::int64_t>(waiting_.size()); }

  // By the engine's thread.

  void GiveBackUnused(const Ticket& ticket) {
    const std::string& key = ticket.submission.key;
    if (!Counts(key)) return;
    usage_->GiveBack(key, {ticket.submission.request.max_tokens - ticket.released, 0});
  }

  void Run() {
    while (WaitForWork()) {
      if (live_.empty()) LookAtPredictor();
      Mend();
      DropEnded();
      const std::vector<StepShare> shares = TakeShares();
      ShowLive();
      if (!live_.empty()) Step(shares);
      ShowLive();
    }
    StopAll();
  }

  void ShowLive() { counters_.live = static_cast<std::int64_t>(live_.size()); }

  // Waits for work, for something to mend, or until it is time to look at the predictor. False:
  // time to stop.
  bool WaitForWork() {
    std::unique_lock lock(mutex_);
    const auto is_work = [this] { return draining_ || !live_.empty() || waiting_.size() > 0; };
    changed_.wait_for(lock, kMendInterval, [&] { return is_work() || health_.is_broken(); });
    if (health_.is_broken()) changed_.wait_until(lock, next_mend_, is_work);
    if (!draining_) return true;
    return (!live_.empty() || waiting_.size() > 0) && Clock::now() < drain_deadline_;
  }

  // One that runs elsewhere may go away while nobody asks.
  void LookAtPredictor() {
    if (!health_.step().ok()) return;
    const EngineHealth::Busy busy(health_);
    if (const Status status = core_->CheckPredictor(); !status.ok()) health_.SetStep(status);
  }

  // Tries to mend what is broken, at most once an interval. While no step can charge nobody waits.
  void Mend() {
    if (!health_.is_broken() || Clock::now() < next_mend_) return;
    if (!health_.usage().ok()) SetUsageHealth(usage_->Write());
    if (!health_.step().ok()) {
      const EngineHealth::Busy busy(health_);
      health_.SetStep(core_->Recover());
    }
    next_mend_ = Clock::now() + kMendInterval;
    if (health_.step().ok()) return;
    EndWaiting(AnswerEnd::kFailed, IsAny);
  }

  // Ends a request for good, as `end` unless its client, or its deadline, was first.
  void Settle(const Ticket& ticket, AnswerEnd end) {
    GiveBackUnused(ticket);
    const AnswerEnd before = ticket.stream->outcome();
    ++CounterOf(before == AnswerEnd::kNotYet ? end : before, counters_);
    ticket.stream->End(end);
  }

  static bool IsAny(const Ticket&) { return true; }

  // Gives its places back.
  void Leave(std::int64_t id, const Ticket& ticket) {
    prompts_.Drop(id);
    batch_.End(ticket.submission.key, id);
  }

  Ticket TakeOut(Tickets::iterator entry) {
    Leave(entry->first, entry->second);
    return std::move(live_.extract(entry).mapped());
  }

  // Ends the requests that have begun that `is_over(ticket)` holds for.
  template <typename Predicate>
  void EndLive(AnswerEnd end, const Predicate& is_over) {
    std::erase_if(live_, [&](const auto& entry) {
      const auto& [id, ticket] = entry;
      if (!is_over(ticket)) return false;
      core_->Cancel(id);
      Leave(id, ticket);
      Settle(ticket, end);
      return true;
    });
  }

  // The same in the queue.
  template <typename Predicate>
  void EndWaiting(AnswerEnd end, const Predicate& is_over) {
    const std::lock_guard guard(mutex_);
    waiting_.EraseIf([&](const Ticket& ticket) {
      if (!is_over(ticket)) return false;
      Settle(ticket, end);
      return true;
    });
    ShowQueue();
  }

  void DropEnded() {
    const auto is_over = [now = Clock::now()](const Ticket& ticket) {
      return ticket.stream->has_ended() || now >= ticket.submission.deadline;
    };
    EndLive(AnswerEnd::kDeadline, is_over);
    EndWaiting(AnswerEnd::kDeadline, is_over);
  }

  // The next one, of a key that may begin one and has no prompt on its way in.
  std::optional<Ticket> PopWaiting() {
    const std::lock_guard guard(mutex_);
    auto ticket = waiting_.Pop([this](const std::string& key) {
      return !prompts_.is_entering(key) && batch_.may_begin(key);
    });
    ShowQueue();
    return ticket;
  }

  // One prompt a key, so that its others take no place from those who come.
  void AdmitWaiting() {
    while (std::optional<Ticket> ticket = PopWaiting()) {
      if (exhausted_) {
        Settle(*ticket, AnswerEnd::kExhausted);
        continue;
      }
      const auto id = core_->Admit(ticket->submission.request, ticket->submission.key);
      SUBMIX_CHECK(id.ok(), "Submit lets only requests in that Admit takes");
      const auto tokens = std::ssize(ticket->submission.request.prompt);
      const int left = core_->PromptTokensLeft(*id);
      counters_.prompt_tokens += tokens;
      counters_.prefix_tokens += tokens - left;
      prompts_.Begin(ticket->submission.key, *id, left);
      batch_.Begin(ticket->submission.key);
      live_.emplace(*id, std::move(*ticket));
    }
  }

  // What is in this step: public numbers decide, those of keys, of requests and of their prompts'
  // tokens.
  std::vector<StepShare> TakeShares() {
    const std::int64_t running = batch_.running();
    std::int64_t left = options_.max_prompt_tokens;
    if (running > 0) left = std::min(left, options_.prompt_tokens * running);
    const int places = batch_.TakePromptPlaces();
    std::vector<StepShare> shares;
    while (left > 0) {
      AdmitWaiting();
      const int taken = prompts_.Take(static_cast<int>(left), places, shares);
      if (taken == 0) break;
      left -= taken;
    }
    batch_.Take(shares);
    return shares;
  }

  void Step(const std::vector<StepShare>& shares) {
    const Clock::time_point start = Clock::now();
    const auto events = [&] {
      const EngineHealth::Busy busy(health_);
      return core_->Step(shares);
    }();
    std::this_thread::sleep_until(start + PaddedDuration(Clock::now() - start, options_.quantum));
    counters_.steps.Add(Clock::now() - start);
    if (!events.ok()) return FailLive(events.status());
    for (const TokenEvent& event : *events) Deliver(event);
  }

  void FailLive(const Status& status) {
    ++counters_.failed_steps;
    health_.SetStep(status);
    EndLive(AnswerEnd::kFailed, IsAny);
    next_mend_ = Clock::now();
  }

  void Deliver(const TokenEvent& event) {
    const auto found = live_.find(event.request_id);
    SUBMIX_CHECK(found != live_.end(), "a token without a request");
    Ticket& ticket = found->second;
    if (event.end == AnswerEnd::kExhausted) exhausted_ = true;
    if (event.end == AnswerEnd::kNoPrediction) {
      base::Log(base::LogSeverity::kError,
                "engine: the public model's numbers for a sequence are not finite: its weights, or "
                "its arithmetic, are damaged");
    }
    if (!event.token) return Settle(TakeOut(found), event.end);
    ++ticket.released;
    ++counters_.tokens;
    if (Caches(ticket.submission)) ticket.kept.push_back(event);
    if (event.end == AnswerEnd::kNotYet) {
      if (ticket.released == 1) batch_.Run(ticket.submission.key, event.request_id);
      ticket.stream->Add(event);
      return;
    }
    // Everything else first: who has seen the last token finds it done.
    if (Caches(ticket.submission)) {
      cache_->Insert(ticket.submission.key, options_.generation, ticket.submission.request,
                     std::move(ticket.kept));
    }
    const Ticket finished = TakeOut(found);
    GiveBackUnused(finished);
    ++counters_.finished;
    finished.stream->Add(event);
  }

  void StopAll() {
    EndLive(AnswerEnd::kStopped, IsAny);
    ShowLive();
    EndWaiting(AnswerEnd::kStopped, IsAny);
    const std::lock_guard guard(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

  const std::unique_ptr<EngineCore> core_;  // the engine thread's, but Check and the constants
  const SchedulerOptions options_;
  KeyUsage* const usage_;
  AnswerCache* const cache_;
  Counters counters_;
  EngineHealth health_;
  // The tokens are used up and will stay so: a budget is never reset.
  std::atomic<bool> exhausted_ = false;
  // The engine thread's:
  Tickets live_;
  PromptTurns prompts_;  // those of live_ whose prompt is not in yet
  BatchTurns batch_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  FairQueue<Ticket> waiting_;
  bool draining_ = false;
  bool stopped_ = false;
  Clock::time_point drain_deadline_ = Clock::time_point::max();

  Clock::time_point next_mend_;  // the engine thread's

  DeadlineWatch watch_;
  std::thread thread_;  // last: it sees everything above
};

Clock::duration PaddedDuration(Clock::duration elapsed, std::chrono::nanoseconds quantum) {
  if (quantum <= std::chrono::nanoseconds(0)) return elapsed;
  return (elapsed + quantum - Clock::duration(1)) / quantum * quantum;
}

StatusOr<std::unique_ptr<Scheduler>> Scheduler::Start(std::unique_ptr<EngineCore> core,
                                                      const SchedulerOptions& options,
                                                      KeyUsage* usage, AnswerCache* cache) {
  SUBMIX_RETURN_IF_ERROR(CheckOptions(options));
  return std::unique_ptr<Scheduler>(
      new Scheduler(std::make_unique<EngineLoop>(std::move(core), options, usage, cache)));
}

Scheduler::Scheduler(std::unique_ptr<EngineLoop> loop) : loop_(std::move(loop)) {}
Scheduler::~Scheduler() = default;

StatusOr<std::vector<std::unique_ptr<Completion>>> Scheduler::Submit(
    std::vector<Submission> submissions) {
  return loop_->Submit(std::move(submissions));
}

StatusOr<std::unique_ptr<Completion>> Scheduler::Submit(Submission submission) {
  std::vector<Submission> call;
  call.push_back(std::move(submission));
  SUBMIX_ASSIGN_OR_RETURN(auto completions, Submit(std::move(call)));
  return std::move(completions.front());
}

void Scheduler::Drain(Clock::time_point deadline) { loop_->Drain(deadline); }
bool Scheduler::has_stopped() const { return loop_->has_stopped(); }
Status Scheduler::health() const { return loop_->health_.overall(); }
const Counters& Scheduler::counters() const { return loop_->counters_; }
Status Scheduler::Check(const Request& request) const { return loop_->core_->Check(request); }
StatusOr<std::shared_ptr<const shape::TokenAutomaton>> Scheduler::CompileShape(
    const shape::ShapeRequest& request) const {
  return loop_->core_->CompileShape(request);
}
const tokenizer::Tokenizer& Scheduler::tokenizer() const { return loop_->core_->tokenizer(); }
int Scheduler::context_length() const { return loop_->core_->context_length(); }

}  // namespace submix::engine
