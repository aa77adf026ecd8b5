// Ranks that are threads of one process: what several processes compute, without any.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "submix/train/kernels/ranks.h"

namespace submix::train {

// What the ranks of one run share.
class ThreadRanksMeeting {
 public:
  explicit ThreadRanksMeeting(int size)
      : size_(size), numbers_(static_cast<std::size_t>(size)), barrier_(size) {}

 private:
  friend class ThreadRanks;

  const int size_;
  std::vector<std::span<std::int64_t>> numbers_;  // [size]
  std::span<std::byte> bytes_;                    // the root's
  std::barrier<> barrier_;
};

class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(ThreadRanksMeeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return meeting_.size_; }
  void SumToRoot(std::span<std::int64_t> numbers) override {
    meeting_.numbers_[static_cast<std::size_t>(rank_)] = numbers;
    Barrier();
    if (is_root()) {
      for (int other = 1; other < size(); ++other) {
        const auto from = meeting_.numbers_[static_cast<std::size_t>(other)];
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += from[i];
      }
    }
    Barrier();
  }
  void Broadcast(std::span<std::byte> bytes) override {
    if (is_root()) meeting_.bytes_ = bytes;
    Barrier();
    if (!is_root()) std::ranges::copy(meeting_.bytes_, bytes.begin());
    Barrier();
  }
  void Barrier() override { meeting_.barrier_.arrive_and_wait(); }

 private:
  ThreadRanksMeeting& meeting_;
  const int rank_;
};

// Runs `root` as rank 0 on this thread and `other` as the ranks 1 … size - 1. Both must end.
inline void RunOnThreadRanks(int size, const std::function<void(Ranks&)>& root,
                             const std::function<void(Ranks&)>& other) {
  ThreadRanksMeeting meeting(size);
  std::vector<std::thread> threads;
  for (int rank = 1; rank < size; ++rank) {
    threads.emplace_back([&meeting, &other, rank] {
      ThreadRanks ranks(meeting, rank);
      other(ranks);
    });
  }
  ThreadRanks ranks(meeting, 0);
  root(ranks);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace submix::train
