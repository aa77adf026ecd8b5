// GPT-2's one-to-one map between the 256 bytes and 256 printable characters, by which vocab.json
// and merges.txt spell byte strings as text. Printable Latin-1 bytes stand for themselves; the
// other 68 stand for U+0100 .. U+0143 in the order of the bytes (a space is "Ġ", U+0120).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace submix::tokenizer {

// The bytes spelt in the alphabet, as UTF-8.
std::string SpellBytes(std::string_view bytes);
// The inverse; nothing if `spelling` holds a character that is not of the alphabet.
std::optional<std::string> BytesOfSpelling(std::string_view spelling);
// The bytes in the order of their characters: byte tokens have the ids 0 .. 255 in this order.
const std::array<std::uint8_t, 256>& BytesInAlphabetOrder();

}  // namespace submix::tokenizer
