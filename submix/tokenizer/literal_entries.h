// Entries of a vocabulary that text matches literally, before it is normalized and cut: Gemma's
// line ends and tags of HTML, which no merges make.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/ids.h"

namespace submix::tokenizer {

// Immutable, thread-safe.
class LiteralEntries {
 public:
  struct Entry {
    std::string content;  // not empty, and each once
    base::TokenId id = 0;
  };
  struct Match {
    std::size_t begin = 0;
    std::size_t end = 0;
    base::TokenId id = 0;
  };

  LiteralEntries() = default;
  explicit LiteralEntries(std::vector<Entry> entries);

  // The first match at or after `start`, the longest there.
  std::optional<Match> Find(std::string_view text, std::size_t start) const;

 private:
  const Entry* LongestAt(std::string_view text, std::size_t begin) const;

  std::vector<Entry> entries_;        // sorted by content
  std::array<bool, 256> is_first_{};  // whether some entry begins with this byte
};

}  // namespace submix::tokenizer
