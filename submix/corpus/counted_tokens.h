// Streams and blocks of tokens in which some are read and do not count: a training's loss leaves
// them out, and an evaluation does not score them. Such a token stands as its complement, which no
// token id is, so that blocks of plain text are token ids and nothing else.
#pragma once

#include <algorithm>
#include <span>

#include "submix/base/ids.h"

namespace submix::corpus {

// A token id, or the complement of one.
using StreamToken = base::TokenId;

constexpr StreamToken Uncounted(base::TokenId id) { return ~id; }
constexpr bool IsCounted(StreamToken token) { return token >= 0; }
constexpr base::TokenId IdOf(StreamToken token) { return token >= 0 ? token : ~token; }

// How many tokens of a block count, beside its first, which nothing predicts.
inline std::ptrdiff_t NumCounted(std::span<const StreamToken> block) {
  return block.empty() ? 0 : std::ranges::count_if(block.subspan(1), IsCounted);
}

}  // namespace submix::corpus
