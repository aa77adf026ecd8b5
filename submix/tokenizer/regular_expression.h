// Regular expressions over Unicode, as tokenizer.json writes them: for Oniguruma. They are matched
// by PCRE2; what the two read differently is translated or refused.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "submix/base/status.h"

namespace submix::tokenizer {

// The pattern for PCRE2 that matches the same. What the model families use is known: literals,
// classes, \s \S \d \D \p \P, groups, (?i:), look-ahead, quantifiers but of whole groups (other
// than `?`) and unbounded ones in a look-ahead, which a hostile file could make take exponential
// time. Errors: kInvalidArgument, naming the construct.
base::StatusOr<std::string> TranslatePattern(std::string_view pattern);

// A compiled pattern. Immutable, thread-safe, cheap to copy.
class RegularExpression {
 public:
  struct Match {
    std::size_t begin = 0;
    std::size_t end = 0;  // > begin
  };

  // Errors: kInvalidArgument of TranslatePattern, and for a pattern that does not compile or can
  // match nothing at all.
  static base::StatusOr<RegularExpression> Compile(std::string_view pattern);
  // Matches exactly these bytes.
  static RegularExpression Literal(std::string_view bytes);

  // How often all searches of one text together may go back and try again, beyond a little each, in
  // PCRE2's own count. Each time may take another look at the whole text, so that a hostile pattern
  // takes at most time with the square of the text. Those of the model families need a few times
  // for each character of a long run.
  struct Effort {
    explicit Effort(std::size_t text_bytes) : left(1'000 + 8 * text_bytes) {}
    std::size_t left;
  };

  // The first match at or after `start`, if any. Errors: kInvalidArgument where the effort is used
  // up; kInternal of PCRE2, such as no memory. Requires: well-formed UTF-8, `start` between two
  // characters.
  base::StatusOr<std::optional<Match>> Find(std::string_view text, std::size_t start,
                                            Effort& effort) const;

 private:
  struct Code;
  explicit RegularExpression(std::shared_ptr<const Code> code);

  std::shared_ptr<const Code> code_;
};

}  // namespace submix::tokenizer
