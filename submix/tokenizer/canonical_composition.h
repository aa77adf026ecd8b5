// Unicode's Normalization Form C (UAX #15), which Qwen's files ask for.
#pragma once

#include <string>
#include <string_view>

namespace submix::tokenizer {

// NFC of every stretch of well-formed UTF-8; other bytes stay what and where they are. O(n log n)
// time, whatever the text. Unicode's version is that of utf8proc: a code point that is newer stays.
std::string ComposeCanonically(std::string_view bytes);

}  // namespace submix::tokenizer
