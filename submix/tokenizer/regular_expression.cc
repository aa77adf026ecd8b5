#include "submix/tokenizer/regular_expression.h"

#include <array>
#include <cstdint>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "submix/base/check.h"

namespace submix::tokenizer {

namespace {

constexpr std::size_t kFreeEffort = 32;  // of every search, as PCRE2's match limit

std::string ReasonOf(int error) {
  std::array<PCRE2_UCHAR, 128> reason{};
  pcre2_get_error_message(error, reason.data(), reason.size());
  return reinterpret_cast<const char*>(reason.data());
}

// Of a search that came to no end.
base::Status SearchError(int error) {
  switch (error) {
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
    case PCRE2_ERROR_HEAPLIMIT:
    case PCRE2_ERROR_JIT_STACKLIMIT:
      return base::InvalidArgumentError(
          "the text cannot be cut into tokens by this tokenizer's pattern within its budget of "
          "tries: break up its long runs of characters of one kind, or use a tokenizer.json whose "
          "pattern goes back less");
    default:
      return base::InternalError("PCRE2 cannot search a text: " + ReasonOf(error));
  }
}

}  // namespace

struct RegularExpression::Code {
  explicit Code(pcre2_code* compiled) : code(compiled) {
    // Where the system forbids run-time code, PCRE2 interprets instead.
    is_machine_code = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
  }
  ~Code() { pcre2_code_free(code); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  pcre2_code* code;
  bool is_machine_code = false;
};

RegularExpression::RegularExpression(std::shared_ptr<const Code> code) : code_(std::move(code)) {}

base::StatusOr<RegularExpression> RegularExpression::Compile(std::string_view pattern) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string translated, TranslatePattern(pattern));
  int error = 0;
  PCRE2_SIZE error_offset = 0;
  pcre2_code* compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(), PCRE2_UTF,
                    &error, &error_offset, nullptr);
  if (compiled == nullptr) {
    return base::InvalidArgumentError("the regular expression does not compile: " +
                                      ReasonOf(error));
  }
  auto code = std::make_shared<const Code>(compiled);
  std::uint32_t can_match_nothing = 0;
  pcre2_pattern_info(compiled, PCRE2_INFO_MATCHEMPTY, &can_match_nothing);
  if (can_match_nothing != 0) {
    return base::InvalidArgumentError("the regular expression can match the empty string");
  }
  return RegularExpression(std::move(code));
}

RegularExpression RegularExpression::Literal(std::string_view bytes) {
  int error = 0;
  PCRE2_SIZE error_offset = 0;
  pcre2_code* compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(bytes.data()), bytes.size(),
                                       PCRE2_LITERAL | PCRE2_UTF, &error, &error_offset, nullptr);
  SUBMIX_CHECK(compiled != nullptr, "a literal compiles");
  return RegularExpression(std::make_shared<const Code>(compiled));
}

base::StatusOr<std::optional<RegularExpression::Match>> RegularExpression::Find(
    std::string_view text, std::size_t start, Effort& effort) const {
  // One a thread, since making one takes as long as finding a word.
  thread_local const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create(1, nullptr), &pcre2_match_data_free);
  thread_local const std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)>
      context(pcre2_match_context_create(nullptr), &pcre2_match_context_free);
  SUBMIX_CHECK(match != nullptr && context != nullptr, "out of memory");
  const auto* const subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  // PCRE2 does not tell what a search has cost: it is tried with twice as much until it comes to an
  // end, which costs at most twice what it needs.
  int result = PCRE2_ERROR_MATCHLIMIT;
  for (std::size_t limit = kFreeEffort;; limit *= 2) {
    pcre2_set_match_limit(context.get(), static_cast<std::uint32_t>(limit));
    result = code_->is_machine_code ? pcre2_jit_match(code_->code, subject, text.size(), start, 0,
                                                      match.get(), context.get())
                                    : pcre2_match(code_->code, subject, text.size(), start,
                                                  PCRE2_NO_UTF_CHECK, match.get(), context.get());
    if (result != PCRE2_ERROR_MATCHLIMIT || limit > effort.left) break;
    effort.left -= limit;
  }
  if (result == PCRE2_ERROR_NOMATCH) return std::optional<Match>();
  if (result < 0) return SearchError(result);
  // 0: a match whose groups did not all fit, which nobody asks for.
  const PCRE2_SIZE* const offsets = pcre2_get_ovector_pointer(match.get());
  return std::optional(Match{offsets[0], offsets[1]});
}

}  // namespace submix::tokenizer
