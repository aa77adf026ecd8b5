// GPT-2's pre-tokeniser: cuts text into the words inside which byte pairs may merge. The pattern is
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// where \s is Unicode's White_Space. Every byte that is not part of well-formed UTF-8 counts as one
// character that is neither letter, number nor space, so that any bytes are cut and none is lost.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace submix::tokenizer {

// Walks over the words of one text. One thread at a time; any number of walkers at once.
class WordScanner {
 public:
  // `bytes` must outlive the scanner.
  explicit WordScanner(std::string_view bytes);
  ~WordScanner();
  WordScanner(const WordScanner&) = delete;
  WordScanner& operator=(const WordScanner&) = delete;

  // The next word, a view into the text; nothing at its end. The words joined are the text. Linear
  // time over the whole text.
  std::optional<std::string_view> Next();

 private:
  struct Match;  // PCRE2's working memory

  std::string_view bytes_;
  std::string repaired_;      // used only if bytes_ is not well-formed
  std::string_view subject_;  // what the pattern sees: bytes_ or repaired_, byte for byte in step
  std::size_t position_ = 0;
  std::unique_ptr<Match> match_;
};

}  // namespace submix::tokenizer
