#include "submix/train/models/token_batch.h"

#include <algorithm>

#include "submix/base/check.h"

namespace submix::train {

TokenBatch::TokenBatch(std::int64_t rows, std::int64_t positions)
    : positions_(positions),
      tokens_(torch::zeros({rows, positions}, torch::kLong)),
      targets_(torch::full({rows * positions}, -1, torch::kLong)),
      weights_(torch::zeros({rows * positions})),
      places_(static_cast<std::size_t>(rows)) {}

void TokenBatch::Clear() {
  tokens_.zero_();
  targets_.fill_(-1);
  weights_.zero_();
  std::ranges::fill(places_, std::nullopt);
}

bool TokenBatch::has_places() const {
  return std::ranges::any_of(places_, [](const auto& place) { return place.has_value(); });
}

void TokenBatch::SetRow(std::int64_t row, std::span<const corpus::StreamToken> block,
                        std::optional<StatePlace> place) {
  const auto size = static_cast<std::int64_t>(block.size());
  SUBMIX_CHECK(size >= 2 && size <= positions_ + 1, "block does not fit the batch");
  std::int64_t* tokens = tokens_.data_ptr<std::int64_t>() + row * positions_;
  std::int64_t* targets = targets_.data_ptr<std::int64_t>() + row * positions_;
  for (std::int64_t i = 0; i + 1 < size; ++i) {
    const corpus::StreamToken next = block[static_cast<std::size_t>(i) + 1];
    tokens[i] = corpus::IdOf(block[static_cast<std::size_t>(i)]);
    targets[i] = corpus::IsCounted(next) ? next : -1;
  }
  places_[static_cast<std::size_t>(row)] = place;
}

void TokenBatch::WeighEqually(std::int64_t begin_row, std::int64_t end_row) {
  const std::int64_t* targets = targets_.data_ptr<std::int64_t>();
  float* weights = weights_.data_ptr<float>();
  std::int64_t count = 0;
  for (std::int64_t i = begin_row * positions_; i < end_row * positions_; ++i) {
    if (targets[i] >= 0) ++count;
  }
  if (count == 0) return;
  const float weight = 1.0f / static_cast<float>(count);
  for (std::int64_t i = begin_row * positions_; i < end_row * positions_; ++i) {
    weights[i] = targets[i] >= 0 ? weight : 0.0f;
  }
}

std::int64_t NumTargets(std::span<const std::vector<corpus::StreamToken>> blocks) {
  std::int64_t count = 0;
  for (const auto& block : blocks) count += corpus::NumCounted(block);
  return count;
}

TokenBatch BatchOf(std::span<const std::vector<corpus::StreamToken>> blocks,
                   std::optional<StatePlace> first) {
  std::size_t longest = 0;
  for (const auto& block : blocks) longest = std::max(longest, block.size());
  TokenBatch batch(std::ssize(blocks), static_cast<std::int64_t>(longest) - 1);
  for (std::size_t row = 0; row < blocks.size(); ++row) {
    std::optional<StatePlace> place = first;
    if (place.has_value()) place->block += row;
    batch.SetRow(static_cast<std::int64_t>(row), blocks[row], place);
  }
  batch.WeighEqually(0, std::ssize(blocks));
  return batch;
}

}  // namespace submix::train
