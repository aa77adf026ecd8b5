// Sets of Unicode characters, and the bytes of UTF-8 that write them. Surrogates are no characters.
#pragma once

#include <compare>
#include <optional>
#include <string_view>
#include <vector>

#include "submix/shape/expression.h"

namespace submix::shape {

inline constexpr char32_t kLastCharacter = 0x10FFFF;

struct CharacterRange {
  char32_t first = 0;
  char32_t last = 0;  // >= first
  auto operator<=>(const CharacterRange&) const = default;
};

// Sorted, apart from each other, without surrogates.
using CharacterSet = std::vector<CharacterRange>;

// The union of ranges in any order, which may overlap.
CharacterSet CharactersOf(std::vector<CharacterRange> ranges);
// Every other character.
CharacterSet AllBut(const CharacterSet& set);
// Those of both.
CharacterSet Common(const CharacterSet& a, const CharacterSet& b);
CharacterSet AllCharacters();

// One character of the set, in UTF-8.
Expression Utf8(const CharacterSet& set);
// One character of the set as it stands in a JSON string, by exactly one spelling each: \" \\ \b \f
// \n \r \t, \u00xx for other control characters, itself for all the rest.
Expression JsonCharacter(const CharacterSet& set);

// The characters of a text; none if it is not UTF-8.
std::optional<std::u32string> CharactersOfText(std::string_view text);

}  // namespace submix::shape
