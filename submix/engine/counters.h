// What the public metrics may say: counts of public things (contract 7). Nothing here depends on
// private data: no charge, no budget, no part.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "submix/base/status.h"
#include "submix/engine/answer_end.h"

namespace submix::engine {

// Durations in buckets with fixed bounds. Thread-safe; a reader beside a writer may miss the newest
// ones.
class DurationHistogram {
 public:
  // Upper bounds in seconds; one bucket more holds what is longer.
  static constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                         0.1,   0.25,   0.5,   1.0,  2.5,   10.0};

  void Add(std::chrono::nanoseconds duration) {
    const double seconds = std::chrono::duration<double>(duration).count();
    const auto* bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
    buckets_[static_cast<std::size_t>(bound - kBounds.begin())].fetch_add(
        1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(duration.count(), std::memory_order_relaxed);
  }
  // How many fell into bucket 0 <= bucket <= kBounds.size(), not cumulative.
  std::int64_t count(std::size_t bucket) const {
    return buckets_[bucket].load(std::memory_order_relaxed);
  }
  double sum_seconds() const {
    return static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-9;
  }

 private:
  std::array<std::atomic<std::int64_t>, kBounds.size() + 1> buckets_{};
  std::atomic<std::int64_t> nanoseconds_{0};
};

// Thread-safe, each number for itself. They grow, but the three last.
struct Counters {
  std::atomic<std::int64_t> requests{0};         // submitted, whatever came of them
  std::atomic<std::int64_t> refused_invalid{0};  // by the reason of Scheduler::Submit
  std::atomic<std::int64_t> refused_full{0};
  std::atomic<std::int64_t> refused_quota{0};        // of the key
  std::atomic<std::int64_t> refused_exhausted{0};    // of the deployment; ended requests too
  std::atomic<std::int64_t> refused_unavailable{0};  // draining, not healthy, or no durable quota
  std::atomic<std::int64_t> cache_hits{0};
  std::atomic<std::int64_t> finished{0};  // the other ends, see AnswerEnd
  std::atomic<std::int64_t> cancelled{0};
  std::atomic<std::int64_t> deadlines{0};
  std::atomic<std::int64_t> stopped{0};
  std::atomic<std::int64_t> failed{0};
  std::atomic<std::int64_t> prompt_tokens{0};  // of admitted requests
  std::atomic<std::int64_t> prefix_tokens{0};  // those of them that earlier prompts had brought
  std::atomic<std::int64_t> tokens{0};         // released, the cache's not counted
  std::atomic<std::int64_t> failed_steps{0};
  DurationHistogram steps;  // as they took, padding included; failed ones too

  std::atomic<std::int64_t> waiting{0};  // now
  std::atomic<std::int64_t> live{0};     // now
  std::atomic<std::int64_t> healthy{1};  // now: 1 if Scheduler::health is ok, otherwise 0
};

// Of requests that end so.
inline std::atomic<std::int64_t>& CounterOf(AnswerEnd end, Counters& counters) {
  switch (end) {
    case AnswerEnd::kStop:
    case AnswerEnd::kMaxTokens:
      return counters.finished;
    case AnswerEnd::kDeadline:
      return counters.deadlines;
    case AnswerEnd::kExhausted:
      return counters.refused_exhausted;
    case AnswerEnd::kStopped:
      return counters.stopped;
    case AnswerEnd::kFailed:
    case AnswerEnd::kNoPrediction:
      return counters.failed;
    default:
      return counters.cancelled;
  }
}

// Of requests that Scheduler::Submit refuses so.
inline std::atomic<std::int64_t>& RefusalCounterOf(base::StatusCode code, Counters& counters) {
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

}  // namespace submix::engine
