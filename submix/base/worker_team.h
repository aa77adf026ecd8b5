// Threads that run one function together, in step. A step of decoding has a hundred short stages,
// so a barrier must cost less than a microsecond; but whoever waits longer than the spin limit
// sleeps, so that an idle or a contended team takes no processor time from its neighbours.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace submix::base {

// One thread at a time calls Run.
class WorkerTeam {
 public:
  // `size` >= 1 workers; worker 0 is the thread that calls Run.
  explicit WorkerTeam(int size);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  int size() const { return size_; }

  // body(worker) on every worker at once; returns when all are done. The body does not throw.
  template <typename Body>
  void Run(Body&& body) {
    using Object = std::remove_reference_t<Body>;
    body_ = [](void* object, int worker) { (*static_cast<Object*>(object))(worker); };
    object_ = &body;
    WakeAll();
    body(0);
    Barrier();
  }
  // body(i), which does not throw, once for every i in [0, count), by several workers where these
  // are many. Returns when all are done. Calls Run.
  template <typename Body>
  void ForEach(int count, const Body& body) {
    const auto run = [&](const Share& share) {
      for (int i = share.begin; i < share.end; ++i) body(i);
    };
    if (count < kWorthSharing) return run({0, count});
    Run([&](int worker) { run(ShareOf(count, worker)); });
  }
  // Within a body: returns once every worker has come here. What they wrote before is seen after.
  void Barrier();

  // The share of `count` items that belongs to a worker: [begin, end).
  struct Share {
    int begin = 0;
    int end = 0;
  };
  Share ShareOf(int count, int worker) const {
    const std::int64_t wide = count;
    return {static_cast<int>(wide * worker / size_), static_cast<int>(wide * (worker + 1) / size_)};
  }

 private:
  // Fewer are done about when the other workers are awake; and these take the processors on which
  // the tokens of the step before are sent (`server_benchmark --clients 4` loses a tenth).
  static constexpr int kWorthSharing = 8;

  void WakeAll();
  void Work(int worker);

  const int size_;
  void (*body_)(void*, int) = nullptr;
  void* object_ = nullptr;
  std::atomic<std::uint32_t> runs_ = 0;  // counts starts; the last one ends the threads
  std::atomic<std::uint32_t> arrived_ = 0;
  std::atomic<std::uint32_t> barriers_ = 0;
  std::atomic<bool> is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace submix::base
