// The order in which a member sees its blocks: a fresh shuffle each epoch, a function of the
// member's seed and its number of blocks alone, so that any step can be found again after a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace submix::train {

// One thread at a time.
class TrainingOrder {
 public:
  // Requires: batch_size > 0.
  TrainingOrder(std::size_t num_blocks, int batch_size, std::uint64_t seed);

  std::int64_t steps_per_epoch() const;
  // The blocks of update `step`; the last batch of an epoch may be smaller. Requires: blocks exist.
  std::span<const std::size_t> Batch(std::int64_t step);

 private:
  void Shuffle(std::int64_t epoch);

  const std::size_t batch_size_;
  const std::uint64_t seed_;
  std::int64_t epoch_ = -1;
  std::vector<std::size_t> order_;
};

}  // namespace submix::train
