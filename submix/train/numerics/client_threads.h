// Independent pieces of tensor work on several threads, one core each: clients of a round, streams
// of an evaluation, lots of members.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>

#include "submix/base/status.h"

namespace submix::train {

// Hands out 0 .. count - 1, each once, until one of them has failed. Thread-safe.
class ClientQueue {
 public:
  explicit ClientQueue(std::size_t count) : count_(count) {}
  std::optional<std::size_t> Next() {
    const std::size_t next = next_.fetch_add(1);
    return next < count_ ? std::optional(next) : std::nullopt;
  }
  void Close() { next_ = count_; }

 private:
  const std::size_t count_;
  std::atomic<std::size_t> next_ = 0;
};

// Calls `worker(queue, thread)` on `threads` threads (no more than there is work), numbered from 0,
// with one queue, with libtorch and its BLAS on one thread each, and returns the first error, what
// libtorch throws among them. Which thread does what is not determined; results must not depend on
// it. Requires: threads >= 1.
base::Status RunOnClientThreads(int threads, std::size_t count,
                                const std::function<base::Status(ClientQueue&, int)>& worker);

}  // namespace submix::train
