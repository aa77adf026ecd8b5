#include "submix/tokenizer/characters.h"

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
