#include "submix/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "submix/base/check.h"
#include "submix/tokenizer/characters.h"

namespace submix::tokenizer {
namespace {

using base::StatusOr;

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Joins the matches and the text between them into words, as one behaviour wants it.
class WordsOfPiece {
 public:
  WordsOfPiece(const Split& split, std::vector<Range>& words)
      : split_(split), words_(words), num_earlier_(words.size()) {}

  void Add(Range range, bool is_match) {
    if (range.begin == range.end) return;
    is_match = is_match != split_.invert;
    const bool is_first = words_.size() == num_earlier_;
    if (split_.behavior == SplitBehavior::kRemoved && is_match) return;
    if (!is_first && JoinsThePrevious(is_match)) {
      words_.back().end = range.end;
    } else {
      words_.push_back(range);
    }
    previous_is_match_ = is_match;
  }

 private:
  bool JoinsThePrevious(bool is_match) const {
    switch (split_.behavior) {
      case SplitBehavior::kIsolated:
      case SplitBehavior::kRemoved:
        return false;
      case SplitBehavior::kMergedWithPrevious:
        return is_match && !previous_is_match_;
      case SplitBehavior::kMergedWithNext:
        return !is_match && previous_is_match_;
      case SplitBehavior::kContiguous:
        return is_match == previous_is_match_;
    }
    return false;
  }

  const Split& split_;
  std::vector<Range>& words_;
  const std::size_t num_earlier_;
  bool previous_is_match_ = false;
};

StatusOr<std::vector<Range>> CutEach(const Split& split, std::string_view subject,
                                     const std::vector<Range>& pieces) {
  std::vector<Range> words;
  for (const Range& piece : pieces) {
    WordsOfPiece joined(split, words);
    // A pattern looks no further than its piece, ahead neither.
    const std::string_view text = subject.substr(piece.begin, piece.end - piece.begin);
    RegularExpression::Effort effort(text.size());
    for (std::size_t begin = 0; begin < text.size();) {
      SUBMIX_ASSIGN_OR_RETURN(const auto match, split.pattern.Find(text, begin, effort));
      const std::size_t match_begin = match ? match->begin : text.size();
      joined.Add({piece.begin + begin, piece.begin + match_begin}, false);
      if (!match) break;
      joined.Add({piece.begin + match->begin, piece.begin + match->end}, true);
      begin = match->end;
    }
  }
  return words;
}

// Well-formed text of the same length in which a control character stands for each ill-formed byte:
// it is neither letter, number nor space either. Requires: ill_formed is the first such byte.
std::string Repaired(std::string_view text, std::size_t ill_formed) {
  std::string repaired(text);
  for (; ill_formed < text.size(); ill_formed = FindIllFormed(text, ill_formed + 1)) {
    repaired[ill_formed] = '\x01';
  }
  return repaired;
}

}  // namespace

PreTokenizer::PreTokenizer(std::vector<Split> splits) : splits_(std::move(splits)) {}

bool PreTokenizer::keeps_every_byte() const {
  return std::ranges::none_of(
      splits_, [](const Split& split) { return split.behavior == SplitBehavior::kRemoved; });
}

StatusOr<std::vector<std::string_view>> PreTokenizer::Cut(std::string_view text) const {
  std::vector<std::string_view> words;
  if (text.empty()) return words;
  if (splits_.empty()) {
    words.push_back(text);
    return words;
  }
  std::string repaired;
  std::string_view subject = text;
  if (const std::size_t ill_formed = FindIllFormed(text, 0); ill_formed < text.size()) {
    repaired = Repaired(text, ill_formed);
    subject = repaired;
  }
  std::vector<Range> pieces = {{0, text.size()}};
  for (const Split& split : splits_) {
    SUBMIX_ASSIGN_OR_RETURN(pieces, CutEach(split, subject, pieces));
  }
  words.reserve(pieces.size());
  for (const Range& piece : pieces) {
    words.push_back(text.substr(piece.begin, piece.end - piece.begin));
  }
  return words;
}

Split Gpt2Split() {
  StatusOr<RegularExpression> pattern = RegularExpression::Compile(
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
  SUBMIX_CHECK(pattern.ok(), "GPT-2's pattern compiles");
  return {*std::move(pattern), SplitBehavior::kIsolated, false};
}

const PreTokenizer& Gpt2PreTokenizer() {
  static const PreTokenizer pre_tokenizer({Gpt2Split()});
  return pre_tokenizer;
}

}  // namespace submix::tokenizer
