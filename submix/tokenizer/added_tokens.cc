#include "submix/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "submix/tokenizer/characters.h"

namespace submix::tokenizer {
namespace {

bool IsMarker(const AddedToken& token, std::span<const base::TokenId> more_markers) {
  return token.is_special || std::ranges::binary_search(more_markers, token.id);
}

bool StandsAlone(std::string_view text, std::size_t begin, std::size_t end) {
  const bool follows_word = begin > 0 && IsOfWord(CharacterBefore(text, begin).code_point);
  const bool precedes_word = end < text.size() && IsOfWord(CharacterAt(text, end).code_point);
  return !follows_word && !precedes_word;
}

// Where the white space that ends at `end` begins, not before `least`.
std::size_t SpaceBegin(std::string_view text, std::size_t end, std::size_t least) {
  while (end > least) {
    const Character character = CharacterBefore(text, end);
    if (!IsWhiteSpace(character.code_point) || character.size > end - least) break;
    end -= character.size;
  }
  return end;
}

std::size_t SpaceEnd(std::string_view text, std::size_t begin) {
  while (begin < text.size()) {
    const Character character = CharacterAt(text, begin);
    if (!IsWhiteSpace(character.code_point)) break;
    begin += character.size;
  }
  return begin;
}

// The end of the stretch of the template's bytes that `begin` lies in; `begin` if it is no such
// byte.
std::size_t TemplateEnd(const std::vector<bool>& is_of_template, std::size_t begin) {
  if (is_of_template.empty()) return begin;
  while (begin < is_of_template.size() && is_of_template[begin]) ++begin;
  return begin;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::ranges::sort(tokens_, {}, &AddedToken::content);
  for (const AddedToken& token : tokens_) {
    is_first_[static_cast<unsigned char>(token.content.front())] = true;
  }
}

bool AddedTokens::contains_marker(std::span<const base::TokenId> more_markers) const {
  return std::ranges::any_of(
      tokens_, [&](const AddedToken& token) { return IsMarker(token, more_markers); });
}

std::vector<AddedTokens::Match> AddedTokens::FindAll(const MarkedText& marked) const {
  std::vector<Match> matches;
  const std::string_view text = marked.text;
  std::size_t last_end = 0;      // of the last match, with the white space it took
  std::size_t template_end = 0;  // of the stretch around `begin`, once that is reached
  std::size_t space_end = 0;     // of the last white space that a match took, to look once only
  for (std::size_t begin = 0; begin < text.size() && !tokens_.empty();) {
    const AddedToken* token = nullptr;
    if (is_first_[static_cast<unsigned char>(text[begin])]) {
      if (template_end <= begin) template_end = TemplateEnd(marked.is_of_template, begin);
      token = LongestAt(marked, begin, template_end);
    }
    if (token == nullptr) {
      ++begin;
      continue;
    }
    const std::size_t end = begin + token->content.size();
    if (!token->is_single_word || StandsAlone(text, begin, end)) {
      Match match{begin, end, token->id};
      if (token->strips_left)
        match.begin = std::max(SpaceBegin(text, begin, std::min(last_end, begin)), last_end);
      if (token->strips_right) {
        if (space_end < end) space_end = SpaceEnd(text, end);
        match.end = space_end;
      }
      // Nothing is left of one that the match before it took as white space.
      if (match.begin < match.end) {
        matches.push_back(match);
        last_end = match.end;
      }
    }
    begin = end;
  }
  return matches;
}

// Narrows the tokens byte by byte to those that begin as the text does; the shortest of them, which
// alone may be wholly matched, is the first.
const AddedToken* AddedTokens::LongestAt(const MarkedText& marked, std::size_t begin,
                                         std::size_t template_end) const {
  const std::string_view text = marked.text;
  const AddedToken* longest = nullptr;
  std::span<const AddedToken> candidates = tokens_;
  for (std::size_t depth = 0; begin + depth < text.size(); ++depth) {
    const auto byte_of = [depth](const AddedToken& token) {
      return depth < token.content.size() ? static_cast<unsigned char>(token.content[depth]) : -1;
    };
    const int byte = static_cast<unsigned char>(text[begin + depth]);
    const auto first = std::ranges::lower_bound(candidates, byte, {}, byte_of);
    const auto last = std::ranges::upper_bound(candidates, byte, {}, byte_of);
    candidates = std::span(first, last);
    if (candidates.empty()) break;
    const AddedToken& shortest = candidates.front();
    if (shortest.content.size() != depth + 1) continue;
    const bool is_written_by_template = begin + depth + 1 <= template_end;
    if (is_written_by_template || !IsMarker(shortest, marked.more_markers)) longest = &shortest;
  }
  return longest;
}

}  // namespace submix::tokenizer
