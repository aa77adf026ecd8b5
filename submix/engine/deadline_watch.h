// Ends streams at their deadlines from a thread of its own, so that clients are told in time also
// while the engine's thread waits for a ledger that does not answer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "submix/engine/completion.h"

namespace submix::engine {

// Thread-safe.
class DeadlineWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // Calls `look` every `interval` while a stream is open, or as long as it returns true. It must
  // not call back.
  DeadlineWatch(std::chrono::nanoseconds interval, std::function<bool()> look);
  ~DeadlineWatch();
  DeadlineWatch(const DeadlineWatch&) = delete;
  DeadlineWatch& operator=(const DeadlineWatch&) = delete;

  // Ends the stream at `deadline` as kDeadline, unless it has ended by then.
  void Add(std::shared_ptr<CompletionStream> stream, Clock::time_point deadline);
  // Ends every stream that is open.
  void EndAll(AnswerEnd end);

 private:
  struct Watched {
    std::shared_ptr<CompletionStream> stream;
    Clock::time_point deadline;
  };

  void Run();
  // Ends what is due, forgets what has ended. Returns the next deadline. Requires: mutex_ held.
  Clock::time_point EndDue();

  const std::chrono::nanoseconds interval_;
  const std::function<bool()> look_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::list<Watched> open_;
  bool is_ending_ = false;

  std::thread thread_;  // last: it sees everything above
};

}  // namespace submix::engine
