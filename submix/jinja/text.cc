#include "submix/jinja/text.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <utf8proc.h>

namespace submix::jinja {

Origin Text::Whole() const {
  const auto least = std::ranges::max_element(origins_);
  return least == origins_.end() ? Origin::kTemplate : static_cast<Origin>(*least);
}

Text Text::Part(std::size_t begin, std::size_t end) const {
  Text part;
  part.bytes_.assign(bytes_, begin, end - begin);
  part.origins_.assign(origins_, begin, end - begin);
  return part;
}

CodePoint CodePointAt(std::string_view text, std::size_t position) {
  const std::string_view rest = text.substr(position);
  std::int32_t value = -1;
  const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(rest.data()),
                                     static_cast<utf8proc_ssize_t>(rest.size()), &value);
  return size > 0 ? CodePoint{value, static_cast<std::size_t>(size)} : CodePoint{-1, 1};
}

std::vector<std::size_t> CharacterStarts(std::string_view text) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < text.size(); i += CodePointAt(text, i).size) starts.push_back(i);
  starts.push_back(text.size());
  return starts;
}

std::size_t CountCharacters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); i += CodePointAt(text, i).size) ++count;
  return count;
}

std::string EncodeCodePoint(std::int32_t value) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto size = utf8proc_encode_char(value, bytes.data());
  return {bytes.begin(), bytes.begin() + size};
}

bool IsWellFormed(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = CodePointAt(text, i);
    if (c.value < 0) return false;
    i += c.size;
  }
  return true;
}

std::size_t FindBytes(std::string_view text, std::string_view wanted, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  const void* found =
      ::memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

bool IsSpace(std::int32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool IsDigit(std::int32_t c) { return utf8proc_category(c) == UTF8PROC_CATEGORY_ND; }

bool IsLetter(std::int32_t c) {
  const auto category = utf8proc_category(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool IsUpper(std::int32_t c) { return utf8proc_category(c) == UTF8PROC_CATEGORY_LU; }
bool IsLower(std::int32_t c) { return utf8proc_category(c) == UTF8PROC_CATEGORY_LL; }

bool IsPrintable(std::int32_t c) {
  const auto category = utf8proc_category(c);
  return c == ' ' || (category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS);
}

void AppendInCase(const Text& text, std::size_t position, Case wanted, Text& out) {
  const CodePoint c = CodePointAt(text.bytes(), position);
  if (c.value < 0) {
    out.Append(text.Part(position, position + c.size));
    return;
  }
  constexpr std::int32_t kSharpS = 0xdf;
  if (c.value == kSharpS && wanted != Case::kLower) {
    out.Append(wanted == Case::kUpper ? "SS" : "Ss", text.origin(position));
    return;
  }
  const std::int32_t mapped = wanted == Case::kUpper   ? utf8proc_toupper(c.value)
                              : wanted == Case::kLower ? utf8proc_tolower(c.value)
                                                       : utf8proc_totitle(c.value);
  out.Append(EncodeCodePoint(mapped), text.origin(position));
}

Text InCase(const Text& text, Case wanted) {
  Text out;
  for (std::size_t i = 0; i < text.size(); i += CodePointAt(text.bytes(), i).size) {
    AppendInCase(text, i, wanted, out);
  }
  return out;
}

}  // namespace submix::jinja
