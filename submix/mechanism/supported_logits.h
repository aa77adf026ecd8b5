// Logits on a support that is known beforehand (docs/privacy.md, Theorem 17): for whatever reads
// them, the vocabulary is then the support.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "submix/base/ids.h"

namespace submix::mechanism {

// Of logits [rows, vocabulary] those of the support's tokens: columns [rows, support], which it
// overwrites. Requires: ids in [0, vocabulary).
inline void TakeColumns(std::span<const float> logits, std::size_t vocabulary,
                        std::span<const base::TokenId> support, std::vector<float>& columns) {
  columns.clear();
  for (; !logits.empty(); logits = logits.subspan(vocabulary)) {
    for (const base::TokenId token : support) {
      columns.push_back(logits[static_cast<std::size_t>(token)]);
    }
  }
}

}  // namespace submix::mechanism
