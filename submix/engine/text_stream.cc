// Soundness does not depend on this file: it reads tokens that are paid for.

#include "submix/engine/text_stream.h"

#include <algorithm>

namespace submix::engine {
namespace {

// Length of the longest suffix of `text` that is a proper prefix of `stop`.
std::size_t PartialStop(std::string_view text, std::string_view stop) {
  std::size_t length = std::min(text.size(), stop.size() - 1);
  while (length > 0 && !text.ends_with(stop.substr(0, length))) --length;
  return length;
}

// What a text begins with: a character, a start that more bytes may complete, or `bytes` bytes that
// are part of none (the longest that are replaced together, as browsers do).
struct Character {
  enum Kind { kWhole, kUnfinished, kInvalid } kind = kWhole;
  std::size_t bytes = 1;
};

Character FirstCharacter(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {};
  if (lead < 0xC2 || lead > 0xF4) return {Character::kInvalid, 1};
  const std::size_t needed = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  for (std::size_t i = 1; i < needed; ++i) {
    if (i == text.size()) return {Character::kUnfinished, i};
    // The second byte's range keeps out what is too long, surrogates, and what is beyond Unicode.
    const bool is_second = i == 1;
    const unsigned least = is_second && lead == 0xE0   ? 0xA0
                           : is_second && lead == 0xF0 ? 0x90
                                                       : 0x80;
    const unsigned most = is_second && lead == 0xED   ? 0x9F
                          : is_second && lead == 0xF4 ? 0x8F
                                                      : 0xBF;
    if (byte(i) < least || byte(i) > most) return {Character::kInvalid, i};
  }
  return {Character::kWhole, needed};
}

// Number of bytes at the end that begin a UTF-8 character and do not complete it.
std::size_t UnfinishedCharacter(std::string_view text) {
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    if (character.kind == Character::kUnfinished) return character.bytes;
    text.remove_prefix(character.bytes);
  }
  return 0;
}

// Valid UTF-8: U+FFFD in the place of what is none.
std::string Repaired(std::string_view text) {
  std::string repaired;
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    repaired += character.kind == Character::kWhole ? text.substr(0, character.bytes)
                                                    : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(character.bytes);
  }
  return repaired;
}

}  // namespace

std::string TextStream::Add(std::string_view bytes) {
  if (stopped_) return "";
  held_ += bytes;
  std::size_t first_stop = std::string::npos;
  std::size_t hold = UnfinishedCharacter(held_);
  for (const std::string& stop : stop_) {
    first_stop = std::min(first_stop, held_.find(stop));
    hold = std::max(hold, PartialStop(held_, stop));
  }
  if (first_stop != std::string::npos) {
    stopped_ = true;
    held_.resize(first_stop);
    return Flush();
  }
  const std::size_t certain = held_.size() - hold;
  std::string text = Repaired(std::string_view(held_).substr(0, certain));
  held_.erase(0, certain);
  return text;
}

std::string TextStream::Flush() {
  std::string rest = Repaired(held_);
  held_.clear();
  return rest;
}

}  // namespace submix::engine
