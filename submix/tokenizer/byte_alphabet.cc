#include "submix/tokenizer/byte_alphabet.h"

#include <cstddef>

namespace submix::tokenizer {
namespace {

constexpr int kNumCharacters = 256 + 68;  // code points of the alphabet lie below

constexpr bool StandsForItself(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
}

struct Alphabet {
  std::array<int, 256> character_of_byte{};
  std::array<int, kNumCharacters> byte_of_character{};  // -1: not of the alphabet
  std::array<std::uint8_t, 256> bytes_in_order{};
};

constexpr Alphabet MakeAlphabet() {
  Alphabet alphabet;
  for (int& byte : alphabet.byte_of_character) byte = -1;
  int next_stand_in = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const int character = StandsForItself(byte) ? byte : next_stand_in++;
    alphabet.character_of_byte[static_cast<std::size_t>(byte)] = character;
    alphabet.byte_of_character[static_cast<std::size_t>(character)] = byte;
  }
  std::size_t rank = 0;
  for (const int byte : alphabet.byte_of_character) {
    if (byte >= 0) alphabet.bytes_in_order[rank++] = static_cast<std::uint8_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = MakeAlphabet();

}  // namespace

std::string SpellBytes(std::string_view bytes) {
  std::string spelling;
  spelling.reserve(bytes.size() + bytes.size() / 2);
  for (const char byte : bytes) {
    const int character = kAlphabet.character_of_byte[static_cast<unsigned char>(byte)];
    if (character < 0x80) {
      spelling.push_back(static_cast<char>(character));
    } else {
      spelling.push_back(static_cast<char>(0xc0 | (character >> 6)));
      spelling.push_back(static_cast<char>(0x80 | (character & 0x3f)));
    }
  }
  return spelling;
}

std::optional<std::string> BytesOfSpelling(std::string_view spelling) {
  std::string bytes;
  for (std::size_t i = 0; i < spelling.size(); ++i) {
    int character = static_cast<unsigned char>(spelling[i]);
    if (character >= 0x80) {
      if (i + 1 == spelling.size()) return std::nullopt;
      const int trail = static_cast<unsigned char>(spelling[++i]);
      if ((character & 0xe0) != 0xc0 || (trail & 0xc0) != 0x80) return std::nullopt;
      character = ((character & 0x1f) << 6) | (trail & 0x3f);
    }
    if (character >= kNumCharacters) return std::nullopt;
    const int byte = kAlphabet.byte_of_character[static_cast<std::size_t>(character)];
    if (byte < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

const std::array<std::uint8_t, 256>& BytesInAlphabetOrder() { return kAlphabet.bytes_in_order; }

}  // namespace submix::tokenizer
