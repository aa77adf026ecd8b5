// The dictionary of a word-level language model: the most frequent words of public text. Private
// text never decides what is in it (McMahan et al. 2018, Appendix B), so it costs no privacy.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"

namespace submix::train {

// Calls `sink` for every word of the text, normalised: ASCII letters in lower case; a word is a run
// of letters, digits and bytes of other scripts, with apostrophes inside it ("don't"; the
// typographic one becomes ASCII's). Everything else separates words, the punctuation of U+2000 to
// U+206F and the no-break space among it.
void SplitIntoWords(std::string_view text, const std::function<void(std::string_view)>& sink);

// Immutable after construction; thread-safe.
class WordVocabulary {
 public:
  // The marks come first; a word's id is kMarks + its rank by frequency.
  static constexpr base::TokenId kBeginning = 0;  // before a text; read, never to be predicted
  static constexpr base::TokenId kEnd = 1;        // after a text
  static constexpr base::TokenId kUnknown = 2;    // every word outside the dictionary
  static constexpr int kMarks = 3;

  // The `num_words` most frequent words of the files (plain or .xz), ties in byte order. Errors:
  // those of corpus::ReadLines; kInvalidArgument for num_words < 1 or text with fewer words.
  static base::StatusOr<WordVocabulary> FromPublicText(std::span<const std::string> paths,
                                                       int num_words);
  // Most frequent first. Errors: kInvalidArgument for no words, an empty one or one that stands
  // there twice.
  static base::StatusOr<WordVocabulary> FromWords(std::vector<std::string> words);
  // One word a line, as Save writes it. Errors: kNotFound, kInternal, and those of FromWords.
  static base::StatusOr<WordVocabulary> Load(const std::string& path);
  base::Status Save(const std::string& path) const;
  // What Save writes.
  std::string ToText() const;

  int num_words() const { return static_cast<int>(words_.size()); }
  // Of the model's embedding: words and marks.
  int size() const { return num_words() + kMarks; }
  // kUnknown if the normalised word is not in the dictionary.
  base::TokenId IdOf(std::string_view word) const;

  // Appends the text's words and kEnd; nothing for a text without a word.
  void AppendText(std::string_view text, std::vector<base::TokenId>& tokens) const;

 private:
  explicit WordVocabulary(std::vector<std::string> words);

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::vector<std::string> words_;
  std::unordered_map<std::string, base::TokenId, Hash, std::equal_to<>> ids_;
};

}  // namespace submix::train
