#include "submix/tokenizer/pre_tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "submix/base/check.h"

namespace submix::tokenizer {
namespace {

// White_Space is spelt out: PCRE2's own \s also takes U+180E, which Unicode took out of that set.
#define SUBMIX_WHITE_SPACE R"(\p{Z}\x{09}-\x{0d}\x{85})"
constexpr char kPattern[] = R"('(?:[stmd]|re|ve|ll)| ?(?:\p{L}+|\p{N}+|[^)" SUBMIX_WHITE_SPACE
                            R"(\p{L}\p{N}]+)|[)" SUBMIX_WHITE_SPACE R"(]+(?![^)" SUBMIX_WHITE_SPACE
                            R"(])|[)" SUBMIX_WHITE_SPACE R"(]+)";
#undef SUBMIX_WHITE_SPACE

// Compiled once and kept for ever; matching with it is thread-safe.
const pcre2_code* Pattern() {
  static const pcre2_code* const pattern = [] {
    int error = 0;
    PCRE2_SIZE error_offset = 0;
    pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kPattern), PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_ANCHORED, &error, &error_offset, nullptr);
    SUBMIX_CHECK(code != nullptr, "the pre-tokeniser's pattern must compile");
    // Where the system forbids run-time code, PCRE2 interprets instead.
    (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    return code;
  }();
  return pattern;
}

// The length of the well-formed UTF-8 sequence at the start of `bytes`, 0 if there is none
// (Unicode 14, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t WellFormedLength(std::string_view bytes) {
  const auto at = [bytes](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const auto is_trail = [&](std::size_t i) { return i < bytes.size() && (at(i) & 0xc0) == 0x80; };
  const std::uint8_t lead = at(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4 || !is_trail(1)) return 0;
  if (lead < 0xe0) return 2;
  if ((lead == 0xe0 && at(1) < 0xa0) || (lead == 0xed && at(1) > 0x9f)) return 0;
  if ((lead == 0xf0 && at(1) < 0x90) || (lead == 0xf4 && at(1) > 0x8f)) return 0;
  if (!is_trail(2)) return 0;
  if (lead < 0xf0) return 3;
  return is_trail(3) ? 4 : 0;
}

// The first position at or after `start` that is not well-formed UTF-8; the size if all is.
std::size_t FindIllFormed(std::string_view bytes, std::size_t start) {
  std::size_t position = start;
  while (position < bytes.size()) {
    std::uint64_t eight = ~std::uint64_t{0};
    if (position + 8 <= bytes.size()) std::memcpy(&eight, bytes.data() + position, 8);
    if ((eight & 0x8080808080808080u) == 0) {
      position += 8;
      continue;
    }
    const std::size_t length = WellFormedLength(bytes.substr(position));
    if (length == 0) return position;
    position += length;
  }
  return position;
}

// Well-formed text of the same length in which a control character stands for each ill-formed byte:
// it is neither letter, number nor space either.
std::string Repair(std::string_view bytes, std::size_t ill_formed) {
  std::string repaired(bytes);
  for (; ill_formed < bytes.size(); ill_formed = FindIllFormed(bytes, ill_formed + 1)) {
    repaired[ill_formed] = '\x01';
  }
  return repaired;
}

}  // namespace

struct WordScanner::Match {
  Match() : data(pcre2_match_data_create(1, nullptr)) {
    SUBMIX_CHECK(data != nullptr, "out of memory");
  }
  ~Match() { pcre2_match_data_free(data); }
  Match(const Match&) = delete;
  Match& operator=(const Match&) = delete;

  pcre2_match_data* data;
};

WordScanner::WordScanner(std::string_view bytes)
    : bytes_(bytes), subject_(bytes), match_(std::make_unique<Match>()) {
  const std::size_t ill_formed = FindIllFormed(bytes, 0);
  if (ill_formed < bytes.size()) {
    repaired_ = Repair(bytes, ill_formed);
    subject_ = repaired_;
  }
}

WordScanner::~WordScanner() = default;

std::optional<std::string_view> WordScanner::Next() {
  if (position_ == bytes_.size()) return std::nullopt;
  const int result =
      pcre2_match(Pattern(), reinterpret_cast<PCRE2_SPTR>(subject_.data()), subject_.size(),
                  position_, PCRE2_NO_UTF_CHECK, match_->data, nullptr);
  SUBMIX_CHECK(result > 0, "the pattern matches at every character");
  const std::size_t end = pcre2_get_ovector_pointer(match_->data)[1];
  const std::string_view word = bytes_.substr(position_, end - position_);
  position_ = end;
  return word;
}

}  // namespace submix::tokenizer
