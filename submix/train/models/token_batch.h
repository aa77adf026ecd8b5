// A batch of equally long rows: what each row reads, what it should predict, and how much each
// prediction weighs. Its shape never depends on the text.
// Internal: includes torch.
#pragma once

#include <span>
#include <vector>

#include <torch/types.h>

#include "submix/base/ids.h"

namespace submix::train {

class TokenBatch {
 public:
  // `rows` rows of `positions` tokens, all padding.
  TokenBatch(std::int64_t rows, std::int64_t positions);

  // Makes all rows padding again.
  void Clear();
  // Row `row` reads block[0 .. size-1) and predicts block[1 .. size). Requires: 2 <= block.size()
  // <= positions + 1.
  void SetRow(std::int64_t row, std::span<const base::TokenId> block);
  // Gives each target in [begin_row, end_row) the weight 1 / their number.
  void WeighEqually(std::int64_t begin_row, std::int64_t end_row);

  const at::Tensor& tokens() const { return tokens_; }    // [rows, positions] int64, padding 0
  const at::Tensor& targets() const { return targets_; }  // [rows * positions] int64, padding -1
  const at::Tensor& weights() const { return weights_; }  // [rows * positions] float32, padding 0

 private:
  const std::int64_t positions_;
  at::Tensor tokens_;
  at::Tensor targets_;
  at::Tensor weights_;
};

// The number of predicted tokens.
std::int64_t NumTargets(std::span<const std::vector<base::TokenId>> blocks);
// A row a block, all targets of equal weight. No wider than the longest of the blocks: for one
// user's blocks alone, whose shapes are that user's own matter. Requires: blocks of two tokens or
// more.
TokenBatch BatchOf(std::span<const std::vector<base::TokenId>> blocks);

}  // namespace submix::train
