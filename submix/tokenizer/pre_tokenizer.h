// Cuts text into the words inside which byte pairs may merge: tokenizer.json's `pre_tokenizer`.
// Every byte that is not part of well-formed UTF-8 counts as one character that is neither letter,
// number nor space.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "submix/base/status.h"
#include "submix/tokenizer/regular_expression.h"

namespace submix::tokenizer {

// What becomes of a match and of the text between matches.
enum class SplitBehavior {
  kIsolated,            // a word each
  kRemoved,             // matches are dropped, what is between them is a word each
  kMergedWithPrevious,  // a match ends the word before it, unless that is a match, too
  kMergedWithNext,      // a match begins the word after it, unless that is a match, too
  kContiguous,          // neighbouring matches are one word
};

struct Split {
  RegularExpression pattern;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  // what is between matches is the match
};

// Immutable, thread-safe.
class PreTokenizer {
 public:
  // One after the other, each within the words of the one before. None: a text is one word.
  explicit PreTokenizer(std::vector<Split> splits);

  // Whether the words joined are always the text.
  bool keeps_every_byte() const;
  // Views into the text, none empty. Errors: those of RegularExpression::Find.
  base::StatusOr<std::vector<std::string_view>> Cut(std::string_view text) const;

 private:
  std::vector<Split> splits_;
};

// GPT-2's: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ where \s is
// Unicode's White_Space.
Split Gpt2Split();
const PreTokenizer& Gpt2PreTokenizer();

}  // namespace submix::tokenizer
