#include "submix/base/worker_team.h"

#include <chrono>

#include "submix/base/check.h"

namespace submix::base {
namespace {

// About what it costs to fall asleep and be woken.
constexpr std::chrono::microseconds kSpinLimit(20);

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Returns once `value` is no longer `old`.
void AwaitChange(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 32; ++i) {
      if (value.load(std::memory_order_acquire) != old) return;
      Pause();
    }
  } while (std::chrono::steady_clock::now() - start < kSpinLimit);
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

WorkerTeam::WorkerTeam(int size) : size_(size) {
  SUBMIX_CHECK(size >= 1, "a team without workers");
  for (int worker = 1; worker < size; ++worker) {
    threads_.emplace_back([this, worker] { Work(worker); });
  }
}

WorkerTeam::~WorkerTeam() {
  is_ending_.store(true, std::memory_order_relaxed);
  WakeAll();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerTeam::WakeAll() {
  runs_.fetch_add(1, std::memory_order_release);
  runs_.notify_all();
}

void WorkerTeam::Work(int worker) {
  for (std::uint32_t seen = 0;; ++seen) {
    AwaitChange(runs_, seen);
    if (is_ending_.load(std::memory_order_relaxed)) return;
    body_(object_, worker);
    Barrier();
  }
}

void WorkerTeam::Barrier() {
  if (size_ == 1) return;
  const std::uint32_t barrier = barriers_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(size_)) {
    arrived_.store(0, std::memory_order_relaxed);
    barriers_.fetch_add(1, std::memory_order_release);
    barriers_.notify_all();
  } else {
    AwaitChange(barriers_, barrier);
  }
}

}  // namespace submix::base
