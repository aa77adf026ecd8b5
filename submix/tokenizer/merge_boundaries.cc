#include "submix/tokenizer/merge_boundaries.h"

#include <bit>

#include "submix/tokenizer/characters.h"

namespace submix::tokenizer {

MergeBoundaries::MergeBoundaries(std::size_t num_merges)
    : is_joined_(std::bit_ceil(16 * num_merges + 64)) {}

std::size_t MergeBoundaries::BitOf(std::int32_t last, std::int32_t first) const {
  const std::uint64_t pair = static_cast<std::uint64_t>(static_cast<std::uint32_t>(last)) << 32 |
                             static_cast<std::uint32_t>(first);
  return static_cast<std::size_t>((pair * 0x9e3779b97f4a7c15u) >> 32) & (is_joined_.size() - 1);
}

void MergeBoundaries::AddMerge(std::string_view left, std::string_view right) {
  is_joined_[BitOf(CharacterBefore(left, left.size()).code_point,
                   CharacterAt(right, 0).code_point)] = true;
}

std::size_t MergeBoundaries::StretchEnd(std::string_view word, std::size_t begin) const {
  Character character = CharacterAt(word, begin);
  std::size_t end = begin + character.size;
  while (end < word.size()) {
    const Character next = CharacterAt(word, end);
    if (!is_joined_[BitOf(character.code_point, next.code_point)]) break;
    character = next;
    end += next.size;
  }
  return end;
}

}  // namespace submix::tokenizer
