#include "submix/train/recipes/training_order.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "submix/base/check.h"

namespace submix::train {

TrainingOrder::TrainingOrder(std::size_t num_blocks, int batch_size, std::uint64_t seed)
    : batch_size_(static_cast<std::size_t>(batch_size)), seed_(seed), order_(num_blocks) {
  SUBMIX_CHECK(batch_size > 0, "empty batches");
}

std::int64_t TrainingOrder::steps_per_epoch() const {
  return static_cast<std::int64_t>((order_.size() + batch_size_ - 1) / batch_size_);
}

std::span<const std::size_t> TrainingOrder::Batch(std::int64_t step) {
  SUBMIX_CHECK(!order_.empty() && step >= 0, "no such batch");
  const std::int64_t epoch = step / steps_per_epoch();
  if (epoch != epoch_) Shuffle(epoch);
  const std::size_t begin = static_cast<std::size_t>(step % steps_per_epoch()) * batch_size_;
  return std::span(order_).subspan(begin, std::min(batch_size_, order_.size() - begin));
}

void TrainingOrder::Shuffle(std::int64_t epoch) {
  epoch_ = epoch;
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const auto low = static_cast<std::uint32_t>(seed_);
  const auto high = static_cast<std::uint32_t>(seed_ >> 32);
  std::seed_seq sequence{low, high, static_cast<std::uint32_t>(epoch)};
  std::mt19937_64 generator(sequence);
  // Fisher-Yates by hand: std::shuffle differs between standard libraries. The modulo bias is below
  // 2^-40, and nothing private hangs on it.
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[generator() % i]);
}

}  // namespace submix::train
