// A batch of equally long rows: what each row reads, what it should predict, and how much each
// prediction weighs. What does not count (corpus/counted_tokens.h) is read and not predicted. Its
// shape never depends on the text.
// Internal: includes torch.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <torch/types.h>

#include "submix/base/ids.h"
#include "submix/corpus/counted_tokens.h"

namespace submix::train {

class FrozenStates;

// Where what frozen layers say of a block is kept.
struct StatePlace {
  FrozenStates* states = nullptr;
  std::size_t block = 0;
};

class TokenBatch {
 public:
  // `rows` rows of `positions` tokens, all padding.
  TokenBatch(std::int64_t rows, std::int64_t positions);

  // Makes all rows padding again.
  void Clear();
  // Row `row` reads block[0 .. size-1) and predicts what counts of block[1 .. size). Requires:
  // 2 <= block.size() <= positions + 1; of a batch all rows have a place or none has.
  void SetRow(std::int64_t row, std::span<const corpus::StreamToken> block,
              std::optional<StatePlace> place = {});
  // Gives each target in [begin_row, end_row) the weight 1 / their number.
  void WeighEqually(std::int64_t begin_row, std::int64_t end_row);

  const at::Tensor& tokens() const { return tokens_; }    // [rows, positions] int64, padding 0
  const at::Tensor& targets() const { return targets_; }  // [rows * positions] int64; -1: none
  const at::Tensor& weights() const { return weights_; }  // [rows * positions] float32; of none 0
  // Of a row; none of padding.
  const std::optional<StatePlace>& place(std::int64_t row) const {
    return places_[static_cast<std::size_t>(row)];
  }
  // Whether rows that are not padding have places.
  bool has_places() const;

 private:
  const std::int64_t positions_;
  at::Tensor tokens_;
  at::Tensor targets_;
  at::Tensor weights_;
  std::vector<std::optional<StatePlace>> places_;
};

// The number of predicted tokens.
std::int64_t NumTargets(std::span<const std::vector<corpus::StreamToken>> blocks);
// A row a block, all targets of equal weight. No wider than the longest of the blocks: for one
// user's blocks alone, whose shapes are that user's own matter. Requires: blocks of two tokens or
// more. With the place of the first, the others follow it.
TokenBatch BatchOf(std::span<const std::vector<corpus::StreamToken>> blocks,
                   std::optional<StatePlace> first = {});

}  // namespace submix::train
