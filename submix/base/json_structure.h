// What JSON text says that the parsed value no longer shows, or that a parser should not begin
// with, in time linear in the text. The JSON library's callbacks for the same purpose search each
// array anew at each of its elements.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace submix::base {

struct JsonLimits {
  std::size_t depth = 0;  // objects and arrays within each other
  // Of any kind, keys left out. Each takes the parser some 50 bytes, whatever it takes in the text.
  std::size_t values = std::numeric_limits<std::size_t>::max();
};

// The first flaw that is met, or none; a plain parser would stop early, run out of stack or memory,
// or pick one of two values.
struct JsonStructure {
  std::optional<std::size_t> nul_byte = {};  // where; the library takes it for the end of the text
  bool is_too_deep = false;
  bool has_too_many_values = false;
  std::optional<std::string> duplicate_key = {};  // given twice in one object
};

// Says nothing of text that is no JSON: that is the parser's to say. Thread-safe.
JsonStructure ReadJsonStructure(std::string_view text, const JsonLimits& limits);

}  // namespace submix::base
