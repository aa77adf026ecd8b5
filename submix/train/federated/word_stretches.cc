#include "submix/train/federated/word_stretches.h"

#include <algorithm>

#include "submix/base/check.h"
#include "submix/train/federated/word_vocabulary.h"

namespace submix::train {

std::int64_t NumTargets(const WordBatch& batch) {
  return std::ranges::count_if(batch.targets, [](base::TokenId target) { return target >= 0; });
}

WordStretches::WordStretches(std::span<const base::TokenId> targets, int rows, int unroll)
    : targets_(targets), rows_(rows), unroll_(unroll) {
  SUBMIX_CHECK(rows >= 1 && unroll >= 1, "rows and unroll are positive");
  const auto divide_up = [](std::size_t a, int b) {
    return (a + static_cast<std::size_t>(b) - 1) / static_cast<std::size_t>(b);
  };
  stretch_ = divide_up(targets.size(), rows);
  num_batches_ = divide_up(stretch_, unroll);
}

bool WordStretches::Fill(std::size_t batch, WordBatch& into) const {
  if (batch >= num_batches_) return false;
  const std::size_t begin = batch * static_cast<std::size_t>(unroll_);
  const std::size_t steps = std::min<std::size_t>(unroll_, stretch_ - begin);
  into.rows = rows_;
  into.steps = static_cast<int>(steps);
  into.inputs.assign(steps * rows_, WordVocabulary::kBeginning);
  into.targets.assign(steps * rows_, -1);
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows_); ++row) {
      const std::size_t position = row * stretch_ + begin + step;
      if (position >= targets_.size()) continue;
      const std::size_t at = step * rows_ + row;
      into.targets[at] = targets_[position];
      if (position > 0 && targets_[position - 1] != WordVocabulary::kEnd) {
        into.inputs[at] = targets_[position - 1];
      }
    }
  }
  return true;
}

}  // namespace submix::train
