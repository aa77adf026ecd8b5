// The characters of text that may hold bytes which are not well-formed UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace submix::tokenizer {

struct Character {
  std::int32_t code_point = 0;  // of a byte that is not part of well-formed UTF-8: -1
  std::size_t size = 0;         // bytes, 1 to 4
};

// Requires: position < bytes.size().
Character CharacterAt(std::string_view bytes, std::size_t position);
// The one that ends at `end`. Requires: 0 < end <= bytes.size().
Character CharacterBefore(std::string_view bytes, std::size_t end);

// Unicode's White_Space.
bool IsWhiteSpace(std::int32_t code_point);
// What \w matches by Unicode's recommendation (UTS #18): letters, marks, decimal digits, connectors
// and the two joiners.
bool IsOfWord(std::int32_t code_point);

// The first position at or after `start` that is not well-formed UTF-8; the size if all is.
std::size_t FindIllFormed(std::string_view bytes, std::size_t start);

}  // namespace submix::tokenizer
