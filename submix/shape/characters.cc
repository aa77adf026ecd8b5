#include "submix/shape/characters.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace submix::shape {
namespace {

constexpr char32_t kFirstSurrogate = 0xD800;
constexpr char32_t kLastSurrogate = 0xDFFF;

// The last characters that take 1, 2, 3 and 4 bytes.
constexpr std::array<char32_t, 4> kLastOfLength = {0x7F, 0x7FF, 0xFFFF, kLastCharacter};

std::string Encode(char32_t c) {
  if (c <= 0x7F) return {static_cast<char>(c)};
  const int length = c <= 0x7FF ? 2 : c <= 0xFFFF ? 3 : 4;
  std::string bytes(static_cast<std::size_t>(length), '\0');
  for (auto at = bytes.rbegin(); at + 1 != bytes.rend(); ++at, c >>= 6) {
    *at = static_cast<char>(0x80 | (c & 0x3F));
  }
  constexpr std::array<unsigned, 5> kMarks = {0, 0, 0xC0, 0xE0, 0xF0};
  bytes.front() = static_cast<char>(kMarks[static_cast<std::size_t>(length)] | c);
  return bytes;
}

ByteSet ByteRange(char first, char last) {
  ByteSet bytes;
  for (auto b = static_cast<unsigned char>(first); b < static_cast<unsigned char>(last); ++b) {
    bytes.set(b);
  }
  bytes.set(static_cast<unsigned char>(last));
  return bytes;
}

// Requires: characters of one length. Splits until every byte is a range for itself.
void AddRange(CharacterRange range, std::vector<Expression>& choices) {
  for (const int shift : {18, 12, 6}) {
    const char32_t mask = (char32_t{1} << shift) - 1;
    if (range.first >> shift == range.last >> shift) continue;
    if ((range.first & mask) != 0) {
      AddRange({range.first, range.first | mask}, choices);
      return AddRange({(range.first | mask) + 1, range.last}, choices);
    }
    if ((range.last & mask) != mask) {
      AddRange({range.first, (range.last & ~mask) - 1}, choices);
      return AddRange({range.last & ~mask, range.last}, choices);
    }
  }
  const std::string first = Encode(range.first);
  const std::string last = Encode(range.last);
  std::vector<Expression> bytes;
  for (std::size_t i = 0; i < first.size(); ++i) {
    bytes.push_back(Bytes(ByteRange(first[i], last[i])));
  }
  choices.push_back(Concat(std::move(bytes)));
}

}  // namespace

CharacterSet CharactersOf(std::vector<CharacterRange> ranges) {
  std::ranges::sort(ranges, {}, &CharacterRange::first);
  CharacterSet joined;
  for (const CharacterRange& range : ranges) {
    if (!joined.empty() && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  CharacterSet set;
  for (const CharacterRange& range : joined) {
    if (range.first < kFirstSurrogate) {
      set.push_back({range.first, std::min(range.last, char32_t{kFirstSurrogate - 1})});
    }
    if (range.last > kLastSurrogate) {
      set.push_back({std::max(range.first, char32_t{kLastSurrogate + 1}), range.last});
    }
  }
  return set;
}

CharacterSet AllBut(const CharacterSet& set) {
  std::vector<CharacterRange> others;
  char32_t next = 0;
  for (const CharacterRange& range : set) {
    if (range.first > next) others.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCharacter) others.push_back({next, kLastCharacter});
  return CharactersOf(std::move(others));
}

CharacterSet Common(const CharacterSet& a, const CharacterSet& b) {
  std::vector<CharacterRange> both = AllBut(a);
  const CharacterSet others = AllBut(b);
  both.insert(both.end(), others.begin(), others.end());
  return AllBut(CharactersOf(std::move(both)));
}

CharacterSet AllCharacters() { return AllBut({}); }

Expression Utf8(const CharacterSet& set) {
  std::vector<Expression> choices;
  for (const CharacterRange& range : set) {
    char32_t first = range.first;
    for (const char32_t last_of_length : kLastOfLength) {
      if (first > range.last || first > last_of_length) continue;
      AddRange({first, std::min(range.last, last_of_length)}, choices);
      first = last_of_length + 1;
    }
  }
  return AnyOf(std::move(choices));
}

Expression JsonCharacter(const CharacterSet& set) {
  constexpr std::array<std::pair<char32_t, std::string_view>, 7> kNamed = {{{'"', "\\\""},
                                                                            {'\\', "\\\\"},
                                                                            {'\b', "\\b"},
                                                                            {'\f', "\\f"},
                                                                            {'\n', "\\n"},
                                                                            {'\r', "\\r"},
                                                                            {'\t', "\\t"}}};
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  const auto has = [&](char32_t c) {
    return std::ranges::any_of(
        set, [&](const CharacterRange& range) { return range.first <= c && c <= range.last; });
  };
  const CharacterSet plain = AllBut({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
  std::vector<Expression> choices = {Utf8(Common(set, plain))};
  std::vector<CharacterRange> named;
  for (const auto& [c, spelling] : kNamed) {
    if (has(c)) choices.push_back(Text(spelling));
    named.push_back({c, c});
  }
  for (char32_t c = 0; c < 0x20; ++c) {
    const auto is_c = [&](const CharacterRange& range) { return range.first == c; };
    if (!has(c) || std::ranges::any_of(named, is_c)) continue;
    choices.push_back(Text(std::string("\\u00") + kHexDigits[c >> 4] + kHexDigits[c & 15]));
  }
  return AnyOf(std::move(choices));
}

std::optional<std::u32string> CharactersOfText(std::string_view text) {
  std::u32string characters;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length > text.size() - i) return std::nullopt;
    char32_t c = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t k = 1; k < length; ++k) {
      c = c << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3F);
    }
    // What is not written back as it was is too long, too large, or no UTF-8 at all.
    if (c > kLastCharacter || (kFirstSurrogate <= c && c <= kLastSurrogate) ||
        Encode(c) != text.substr(i, length)) {
      return std::nullopt;
    }
    characters += c;
    i += length;
  }
  return characters;
}

}  // namespace submix::shape
