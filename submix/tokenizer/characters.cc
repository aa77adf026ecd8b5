#include "submix/tokenizer/characters.h"

#include <algorithm>
#include <cstring>

#include <utf8proc.h>

namespace submix::tokenizer {

Character CharacterAt(std::string_view bytes, std::size_t position) {
  const auto byte = static_cast<unsigned char>(bytes[position]);
  if (byte < 0x80) return {byte, 1};
  const std::string_view rest = bytes.substr(position, 4);
  utf8proc_int32_t code_point = -1;
  const utf8proc_ssize_t size =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(rest.data()),
                       static_cast<utf8proc_ssize_t>(rest.size()), &code_point);
  if (size <= 0) return {-1, 1};
  return {code_point, static_cast<std::size_t>(size)};
}

Character CharacterBefore(std::string_view bytes, std::size_t end) {
  for (std::size_t size = 2; size <= std::min<std::size_t>(4, end); ++size) {
    const Character character = CharacterAt(bytes.substr(0, end), end - size);
    if (character.size == size) return character;
  }
  return CharacterAt(bytes, end - 1);
}

bool IsWhiteSpace(std::int32_t code_point) {
  if (code_point < 0) return false;
  if (code_point >= 0x09 && code_point <= 0x0d) return true;
  if (code_point == 0x85) return true;
  switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    default:
      return false;
  }
}

bool IsOfWord(std::int32_t code_point) {
  if (code_point < 0) return false;
  if (code_point == 0x200c || code_point == 0x200d) return true;
  // Letters in circles and squares, which are symbols and alphabetic.
  if (code_point >= 0x24b6 && code_point <= 0x24e9) return true;
  if (code_point >= 0x1f130 && code_point <= 0x1f149) return true;
  if (code_point >= 0x1f150 && code_point <= 0x1f169) return true;
  if (code_point >= 0x1f170 && code_point <= 0x1f189) return true;
  switch (utf8proc_category(code_point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return false;
  }
}

std::size_t FindIllFormed(std::string_view bytes, std::size_t start) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080u;
  std::size_t position = start;
  while (position < bytes.size()) {
    std::uint64_t eight = kHighBits;
    if (position + sizeof eight <= bytes.size()) {
      std::memcpy(&eight, bytes.data() + position, sizeof eight);
    }
    if ((eight & kHighBits) == 0) {
      position += sizeof eight;
      continue;
    }
    const Character character = CharacterAt(bytes, position);
    if (character.code_point < 0) return position;
    position += character.size;
  }
  return bytes.size();
}

}  // namespace submix::tokenizer
