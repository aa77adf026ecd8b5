// One stream of predicted words, cut into rows that are read side by side, a few words at a time:
// the batches of truncated back-propagation through time.
#pragma once

#include <span>

#include "submix/base/ids.h"
#include "submix/train/federated/word_lstm.h"

namespace submix::train {

// The words that are predicted in a batch.
std::int64_t NumTargets(const WordBatch& batch);

// `rows` consecutive stretches of equal length (the last may be shorter), in batches of `unroll`
// words of each. What is read before a word is the word before it in the stream; before the first
// one of the stream and behind a kEnd it is kBeginning. The memory of a row starts empty.
class WordStretches {
 public:
  // `targets` are words and kEnd; read while this lives. Requires: rows, unroll >= 1.
  WordStretches(std::span<const base::TokenId> targets, int rows, int unroll);

  // The same text for every call with the same index; false behind the last batch.
  bool Fill(std::size_t batch, WordBatch& into) const;
  std::size_t num_batches() const { return num_batches_; }

 private:
  const std::span<const base::TokenId> targets_;
  const int rows_;
  const int unroll_;
  std::size_t stretch_ = 0;  // words a row
  std::size_t num_batches_ = 0;
};

}  // namespace submix::train
