#include "submix/train/federated/word_vocabulary.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/corpus/text_lines.h"

namespace submix::train {
namespace {

using base::TokenId;

bool IsAsciiWordByte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9');
}

char LowerCase(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}

enum class Kind { kLetter, kApostrophe, kSeparator };

// What stands at the start of the text, and how many bytes of it are one thing.
struct Piece {
  Kind kind = Kind::kSeparator;
  std::size_t bytes = 1;
};

Piece NextPiece(std::string_view text) {
  const char first = text[0];
  if (IsAsciiWordByte(first)) return {Kind::kLetter, 1};
  if (first == '\'') return {Kind::kApostrophe, 1};
  if (static_cast<unsigned char>(first) < 0x80) return {Kind::kSeparator, 1};
  if (text.starts_with("\u2019")) return {Kind::kApostrophe, 3};
  // General Punctuation lies behind two leading pairs of bytes.
  if (text.starts_with("\xE2\x80") || text.starts_with("\xE2\x81")) {
    return {Kind::kSeparator, std::min<std::size_t>(3, text.size())};
  }
  if (text.starts_with("\u00A0")) return {Kind::kSeparator, 2};
  return {Kind::kLetter, 1};
}

}  // namespace

void SplitIntoWords(std::string_view text, const std::function<void(std::string_view)>& sink) {
  std::string word;
  bool apostrophe_pending = false;  // counts only if the word goes on behind it
  const auto end_word = [&] {
    if (!word.empty()) sink(word);
    word.clear();
    apostrophe_pending = false;
  };
  while (!text.empty()) {
    const Piece piece = NextPiece(text);
    switch (piece.kind) {
      case Kind::kLetter:
        if (apostrophe_pending) word.push_back('\'');
        apostrophe_pending = false;
        word.push_back(LowerCase(text[0]));
        break;
      case Kind::kApostrophe:
        if (apostrophe_pending || word.empty()) {
          end_word();
        } else {
          apostrophe_pending = true;
        }
        break;
      case Kind::kSeparator:
        end_word();
        break;
    }
    text.remove_prefix(piece.bytes);
  }
  end_word();
}

WordVocabulary::WordVocabulary(std::vector<std::string> words) : words_(std::move(words)) {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    ids_.emplace(words_[i], kMarks + static_cast<TokenId>(i));
  }
}

base::StatusOr<WordVocabulary> WordVocabulary::FromWords(std::vector<std::string> words) {
  if (words.empty()) return base::InvalidArgumentError("a vocabulary needs at least one word");
  if (std::ranges::any_of(words, &std::string::empty)) {
    return base::InvalidArgumentError("a vocabulary has no empty words");
  }
  const std::size_t expected = words.size();
  WordVocabulary vocabulary(std::move(words));
  if (vocabulary.ids_.size() != expected) {
    return base::InvalidArgumentError("a vocabulary has every word once");
  }
  return vocabulary;
}

base::StatusOr<WordVocabulary> WordVocabulary::FromPublicText(std::span<const std::string> paths,
                                                              int num_words) {
  if (!(num_words >= 1)) {
    return base::InvalidArgumentError("words: expected 1 or more, found " +
                                      std::to_string(num_words));
  }
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> counts;
  const auto count_word = [&](std::string_view word) {
    const auto found = counts.find(word);
    if (found != counts.end()) {
      ++found->second;
    } else {
      counts.emplace(word, 1);
    }
  };
  for (const std::string& path : paths) {
    SUBMIX_RETURN_IF_ERROR(corpus::ReadLines(path, [&](std::int64_t, std::string_view line) {
      if (line != corpus::kEndOfTextLine) SplitIntoWords(line, count_word);
      return base::OkStatus();
    }));
  }
  if (std::ssize(counts) < num_words) {
    return base::InvalidArgumentError("the public text has " + std::to_string(counts.size()) +
                                      " different words, the dictionary wants " +
                                      std::to_string(num_words) +
                                      ": give more text or fewer words");
  }
  std::vector<std::pair<std::int64_t, std::string>> by_frequency;  // count negated
  by_frequency.reserve(counts.size());
  for (const auto& [word, count] : counts) by_frequency.emplace_back(-count, word);
  std::ranges::partial_sort(by_frequency, by_frequency.begin() + num_words);
  std::vector<std::string> words;
  for (int i = 0; i < num_words; ++i) words.push_back(std::move(by_frequency[i].second));
  return FromWords(std::move(words));
}

base::StatusOr<WordVocabulary> WordVocabulary::Load(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string content, base::ReadFile(path));
  std::vector<std::string> words;
  std::istringstream lines(content);
  for (std::string word; std::getline(lines, word);) words.push_back(word);
  auto vocabulary = FromWords(std::move(words));
  if (!vocabulary.ok()) {
    return base::InvalidArgumentError(path + ": " + vocabulary.status().message());
  }
  return vocabulary;
}

base::Status WordVocabulary::Save(const std::string& path) const {
  return base::WriteFile(path, ToText());
}

std::string WordVocabulary::ToText() const {
  std::string text;
  for (const std::string& word : words_) text += word + '\n';
  return text;
}

TokenId WordVocabulary::IdOf(std::string_view word) const {
  const auto found = ids_.find(word);
  return found == ids_.end() ? kUnknown : found->second;
}

void WordVocabulary::AppendText(std::string_view text, std::vector<TokenId>& tokens) const {
  const std::size_t before = tokens.size();
  SplitIntoWords(text, [&](std::string_view word) { tokens.push_back(IdOf(word)); });
  if (tokens.size() > before) tokens.push_back(kEnd);
}

}  // namespace submix::train
