// The tokens of a vocabulary by their bytes, in an order in which those with a common beginning
// stand side by side.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/ids.h"

namespace submix::shape {

// Immutable, thread-safe.
class Vocabulary {
 public:
  // bytes[t] is the text of token t, or empty where it is no text.
  explicit Vocabulary(std::span<const std::string> bytes);

  std::size_t num_tokens() const { return begin_.size() - 1; }
  // Of the tokens that are text, sorted by bytes, then by id.
  std::size_t size() const { return sorted_.size(); }
  base::TokenId token(std::size_t rank) const { return sorted_[rank]; }
  std::string_view bytes(std::size_t rank) const { return Bytes(sorted_[rank]); }
  // How many bytes it begins with that the one before it begins with, too.
  std::size_t common(std::size_t rank) const { return common_[rank]; }
  std::size_t longest() const { return longest_; }

  // Of any token; empty where it is no text, or unknown.
  std::string_view Bytes(base::TokenId token) const;

  // The ranks [first, last) of tokens that agree with `rank_first` to `rank_last` and have `byte`
  // at `depth`. Requires: tokens of a range that agree in their first `depth` bytes.
  struct Range {
    std::size_t first = 0;
    std::size_t last = 0;
  };
  Range Narrow(Range range, std::size_t depth, unsigned char byte) const;

 private:
  std::string text_;
  std::vector<std::size_t> begin_;  // [tokens + 1], in text_
  std::vector<base::TokenId> sorted_;
  std::vector<std::size_t> common_;
  std::size_t longest_ = 0;
};

}  // namespace submix::shape
