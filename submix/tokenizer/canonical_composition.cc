#include "submix/tokenizer/canonical_composition.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <utf8proc.h>

#include "submix/base/check.h"
#include "submix/tokenizer/characters.h"

namespace submix::tokenizer {
namespace {

// Below U+0300, whose first byte is 0xcc, every text is in NFC.
bool IsSurelyComposed(std::string_view text) {
  return std::ranges::none_of(text,
                              [](char byte) { return static_cast<unsigned char>(byte) >= 0xcc; });
}

void AppendDecomposed(std::int32_t code_point, std::vector<std::int32_t>& code_points) {
  // Hangul and the longest canonical decompositions have at most four.
  std::array<std::int32_t, 8> parts{};
  int boundary_class = 0;
  const auto size = utf8proc_decompose_char(
      code_point, parts.data(), std::ssize(parts),
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE), &boundary_class);
  SUBMIX_CHECK(size >= 1 && size <= std::ssize(parts), "a character decomposes into a few");
  code_points.insert(code_points.end(), parts.begin(), parts.begin() + size);
}

int CombiningClass(std::int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

// The Canonical Ordering Algorithm. The library's own takes quadratic time for a long run of marks.
void OrderMarks(std::vector<std::int32_t>& code_points) {
  const auto is_mark = [](std::int32_t code_point) { return CombiningClass(code_point) != 0; };
  for (auto begin = code_points.begin(); begin != code_points.end();) {
    begin = std::find_if(begin, code_points.end(), is_mark);
    const auto end = std::find_if_not(begin, code_points.end(), is_mark);
    std::ranges::stable_sort(begin, end, {}, CombiningClass);
    begin = end;
  }
}

// Requires: well-formed UTF-8.
void AppendComposed(std::string_view text, std::string& composed) {
  if (IsSurelyComposed(text)) {
    composed += text;
    return;
  }
  std::vector<std::int32_t> code_points;
  code_points.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Character character = CharacterAt(text, i);
    AppendDecomposed(character.code_point, code_points);
    i += character.size;
  }
  OrderMarks(code_points);
  const auto size =
      utf8proc_normalize_utf32(code_points.data(), std::ssize(code_points),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  SUBMIX_CHECK(size >= 0, "decomposed text composes");
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    std::array<utf8proc_uint8_t, 4> encoded{};
    const auto length =
        utf8proc_encode_char(code_points[static_cast<std::size_t>(i)], encoded.data());
    composed.append(reinterpret_cast<const char*>(encoded.data()),
                    static_cast<std::size_t>(length));
  }
}

}  // namespace

std::string ComposeCanonically(std::string_view bytes) {
  std::string composed;
  composed.reserve(bytes.size());
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = FindIllFormed(bytes, begin);
    AppendComposed(bytes.substr(begin, end - begin), composed);
    if (end < bytes.size()) composed.push_back(bytes[end]);
    begin = end + 1;
  }
  return composed;
}

}  // namespace submix::tokenizer
