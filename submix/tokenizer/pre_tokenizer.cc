#include "submix/tokenizer/pre_tokenizer.h"

#include <cstddef>
#include <cstdint>

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

}  // namespace

struct WordScanner::Match {
  Match() : data(pcre2_match_data_create(1, nullptr)) {
    SUBMIX_CHECK(data != nullptr, "out of memory");
  }
  ~Match() { pcre2_match_data_free(data); }
  Match(const Match&) = delete;
  Match& operator=(const Match&) = delete;

  // pcre2_match of the pattern at `position`.
  int Run(std::string_view subject, std::size_t position, std::uint32_t options) {
    return pcre2_match(Pattern(), reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(),
                       position, options, data, nullptr);
  }

  // The first position at or after `start` that is not well-formed UTF-8; the size if all is. PCRE2
  // looks before it matches.
  std::size_t FindIllFormed(std::string_view bytes, std::size_t start) {
    const int result = Run(bytes.substr(start), 0, 0);
    const bool is_ill_formed = result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21;
    return is_ill_formed ? start + pcre2_get_startchar(data) : bytes.size();
  }

  pcre2_match_data* data;
};

WordScanner::WordScanner(std::string_view bytes)
    : bytes_(bytes), subject_(bytes), match_(std::make_unique<Match>()) {
  std::size_t ill_formed = match_->FindIllFormed(bytes, 0);
  if (ill_formed == bytes.size()) return;
  // Well-formed text of the same length in which a control character stands for each ill-formed
  // byte: it is neither letter, number nor space either.
  repaired_ = bytes;
  for (; ill_formed < bytes.size(); ill_formed = match_->FindIllFormed(bytes, ill_formed + 1)) {
    repaired_[ill_formed] = '\x01';
  }
  subject_ = repaired_;
}

WordScanner::~WordScanner() = default;

std::optional<std::string_view> WordScanner::Next() {
  if (position_ == bytes_.size()) return std::nullopt;
  const int result = match_->Run(subject_, position_, PCRE2_NO_UTF_CHECK);
  SUBMIX_CHECK(result > 0, "the pattern matches at every character");
  const std::size_t end = pcre2_get_ovector_pointer(match_->data)[1];
  const std::string_view word = bytes_.substr(position_, end - position_);
  position_ = end;
  return word;
}

}  // namespace submix::tokenizer
