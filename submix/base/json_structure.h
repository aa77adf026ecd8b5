// What JSON text says that the parsed value no longer shows, in time linear in the text. The JSON
// library's callbacks for the same purpose search each array anew at each of its elements.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace submix::base {

// Of the first flaw that is met; a plain parser would run out of stack, or pick one of two values.
struct JsonStructure {
  bool is_too_deep = false;  // more objects and arrays within each other than allowed
  std::optional<std::string> duplicate_key;  // given twice in one object
};

// Says nothing of text that is no JSON: that is the parser's to say, which also takes a NUL byte
// for the end of the text. Thread-safe.
JsonStructure ReadJsonStructure(std::string_view text, std::size_t max_depth);

}  // namespace submix::base
