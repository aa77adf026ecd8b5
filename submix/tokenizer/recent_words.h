// Within one text most words come again: their tokens are copied instead of merged anew.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "submix/base/ids.h"

namespace submix::tokenizer {

// Belongs to the encoding of one text, so that no text's work depends on another text. One thread.
class RecentWords {
 public:
  // For a text of so many bytes; at most 128 KiB of memory.
  explicit RecentWords(std::size_t text_size);

  // Appends the word's tokens if it is remembered; else returns false.
  bool AppendTokens(std::string_view word, std::vector<base::TokenId>& tokens) const;
  // The tokens from `begin` on are those of the word. `tokens` only grows from now on.
  void Remember(std::string_view word, std::size_t begin, const std::vector<base::TokenId>& tokens);

 private:
  struct Slot {
    std::array<char, 18> word{};
    std::uint8_t size = 0;  // 0: free
    std::uint8_t num_tokens = 0;
    std::size_t begin = 0;
  };

  std::size_t SlotOf(std::string_view word) const;

  std::vector<Slot> slots_;
};

}  // namespace submix::tokenizer
