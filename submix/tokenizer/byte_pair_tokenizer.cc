#include "submix/tokenizer/byte_pair_tokenizer.h"

#include <algorithm>
#include <utility>

#include "submix/base/check.h"
#include "submix/tokenizer/characters.h"

namespace submix::tokenizer {
namespace {

using base::TokenId;

// Which ids text never becomes.
std::vector<bool> AreSpecial(const BytePairParts& parts) {
  std::vector<bool> is_special(parts.bytes_of_token.size());
  for (const auto& [content, token] : parts.added_tokens) {
    is_special[static_cast<std::size_t>(token.id)] = token.is_special;
  }
  return is_special;
}

PieceIndex IndexOfWords(const BytePairParts& parts) {
  PieceIndex words(parts.bytes_of_token.size());
  for (std::size_t id = 0; id < parts.bytes_of_token.size(); ++id) {
    if (parts.is_word[id]) words.Add(parts.bytes_of_token[id], static_cast<TokenId>(id));
  }
  return words;
}

bool IsWhiteSpaceOrCharacter(std::string_view content) {
  if (CharacterAt(content, 0).size == content.size()) return true;
  for (std::size_t i = 0; i < content.size();) {
    const Character character = CharacterAt(content, i);
    if (!IsWhiteSpace(character.code_point)) return false;
    i += character.size;
  }
  return true;
}

// Calls `match` for every match and `between` for the text before, between and behind them.
template <typename Between, typename Match>
void ForEachPart(const AddedTokens& added, const MarkedText& marked, const Between& between,
                 const Match& match) {
  std::size_t begin = 0;
  for (const AddedTokens::Match& each : added.FindAll(marked)) {
    if (begin < each.begin) between(begin, each.begin);
    match(each.id);
    begin = each.end;
  }
  if (begin < marked.text.size()) between(begin, marked.text.size());
}

MarkedText PartOf(const MarkedText& marked, std::size_t begin, std::size_t end) {
  MarkedText part{marked.text.substr(begin, end - begin), {}, marked.more_markers};
  if (marked.is_of_template.empty()) return part;
  const auto flags = marked.is_of_template.begin();
  part.is_of_template.assign(flags + static_cast<std::ptrdiff_t>(begin),
                             flags + static_cast<std::ptrdiff_t>(end));
  return part;
}

}  // namespace

struct BytePairTokenizer::Encoding {
  std::vector<TokenId> tokens;
  std::vector<TokenId> word;  // before its merges
  RecentWords recent_words;
  std::span<const TokenId> more_markers;
  base::Status status;  // an error: what has come of the text is worth nothing
};

BytePairTokenizer::BytePairTokenizer(BytePairParts parts) : parts_(std::move(parts)) {
  if (parts_.ignore_merges) words_ = IndexOfWords(parts_);
}

std::size_t BytePairTokenizer::longest_token_bytes() const {
  constexpr std::size_t kUnlimited = Normalizer::kUnlimited;
  const auto strips = [](const auto& entry) {
    const AddedToken& token = entry.second;
    return !token.is_special && (token.strips_left || token.strips_right);
  };
  if (!parts_.pre_tokenizer.keeps_every_byte()) return kUnlimited;
  if (std::ranges::any_of(parts_.added_tokens, strips)) return kUnlimited;
  // A character of four bytes may be replaced by U+FFFD, which has three.
  const bool replaces = std::ranges::count(parts_.token_of_byte, BytePairParts::kNoToken) > 0;
  return std::min(kUnlimited, (replaces ? 2 : 1) * parts_.longest_piece_bytes *
                                  parts_.normalizer.most_bytes_of_one() *
                                  parts_.word_normalizer.most_bytes_of_one());
}

TokenId BytePairTokenizer::largest_text_token() const {
  const std::vector<bool> is_special = AreSpecial(parts_);
  const auto last = std::find(is_special.rbegin(), is_special.rend(), false);
  return static_cast<TokenId>(is_special.rend() - last) - 1;
}

std::optional<TokenId> BytePairTokenizer::special_token(std::string_view content) const {
  const auto token = parts_.added_tokens.find(content);
  if (token == parts_.added_tokens.end() || !token->second.is_special) return std::nullopt;
  return token->second.id;
}

std::optional<TokenId> BytePairTokenizer::added_token(std::string_view content) const {
  const auto token = parts_.added_tokens.find(content);
  if (token == parts_.added_tokens.end()) return std::nullopt;
  return token->second.id;
}

std::vector<TokenId> BytePairTokenizer::MarkersIn(std::string_view source) const {
  std::vector<TokenId> markers;
  for (const auto& [content, token] : parts_.added_tokens) {
    if (token.is_special || IsWhiteSpaceOrCharacter(content)) continue;
    if (source.find(content) != std::string_view::npos) markers.push_back(token.id);
  }
  std::ranges::sort(markers);
  return markers;
}

base::StatusOr<std::vector<TokenId>> BytePairTokenizer::Encode(std::string_view bytes) const {
  return EncodeTemplated(bytes, {}, {});
}

base::StatusOr<std::vector<TokenId>> BytePairTokenizer::EncodeTemplated(
    std::string_view text, const std::vector<bool>& is_of_template,
    std::span<const TokenId> more_markers) const {
  SUBMIX_CHECK(is_of_template.empty() || is_of_template.size() == text.size(), "a flag a byte");
  Encoding encoding{{}, {}, RecentWords(text.size()), more_markers, {}};
  const MarkedText marked{text, is_of_template, more_markers};
  ForEachPart(
      parts_.literals, marked,
      [&](std::size_t begin, std::size_t end) {
        EncodeUnnormalized(PartOf(marked, begin, end), begin == 0, encoding);
      },
      [&](TokenId id) { encoding.tokens.push_back(id); });
  SUBMIX_RETURN_IF_ERROR(encoding.status);
  return std::move(encoding.tokens);
}

void BytePairTokenizer::EncodeUnnormalized(MarkedText segment, bool is_at_start,
                                           Encoding& encoding) const {
  std::string normalized;
  if (!parts_.normalizer.is_identity()) {
    const bool has_flags = !segment.is_of_template.empty() && !parts_.normalized_literals.empty();
    if (!has_flags) segment.is_of_template.clear();
    normalized = parts_.normalizer.Apply(segment.text, is_at_start,
                                         has_flags ? &segment.is_of_template : nullptr);
    segment.text = normalized;
  }
  ForEachPart(
      parts_.normalized_literals, segment,
      [&](std::size_t begin, std::size_t end) {
        EncodePlain(segment.text.substr(begin, end - begin), is_at_start && begin == 0, encoding);
      },
      [&](TokenId id) { encoding.tokens.push_back(id); });
}

void BytePairTokenizer::EncodePlain(std::string_view piece, bool is_at_start,
                                    Encoding& encoding) const {
  if (!encoding.status.ok()) return;
  std::string normalized;
  if (!parts_.word_normalizer.is_identity()) {
    normalized = parts_.word_normalizer.Apply(piece, is_at_start);
    piece = normalized;
  }
  const auto words = parts_.pre_tokenizer.Cut(piece);
  if (!words.ok()) {
    encoding.status = words.status();
    return;
  }
  for (const std::string_view word : *words) {
    for (std::size_t begin = 0; begin < word.size();) {
      const std::size_t end =
          parts_.boundaries ? parts_.boundaries->StretchEnd(word, begin) : word.size();
      EncodeWord(word.substr(begin, end - begin), encoding);
      begin = end;
    }
  }
}

void BytePairTokenizer::EncodeWord(std::string_view word, Encoding& encoding) const {
  if (encoding.recent_words.AppendTokens(word, encoding.tokens)) return;
  const std::size_t num_earlier = encoding.tokens.size();
  const std::optional<TokenId> whole = words_ ? words_->Find(word) : std::nullopt;
  if (whole) {
    encoding.tokens.push_back(*whole);
  } else {
    MergeWord(word, encoding);
  }
  if (!encoding.more_markers.empty()) SpellMarkers(num_earlier, encoding);
  encoding.recent_words.Remember(word, num_earlier, encoding.tokens);
}

void BytePairTokenizer::MergeWord(std::string_view word, Encoding& encoding) const {
  encoding.word.clear();
  for (std::size_t i = 0; i < word.size();) {
    const Character character = CharacterAt(word, i);
    const auto known = parts_.token_of_character.find(character.code_point);
    if (known != parts_.token_of_character.end()) {
      encoding.word.push_back(known->second);
    } else {
      AppendBytes(word.substr(i, character.size), encoding.word);
    }
    i += character.size;
  }
  parts_.merges.Apply(encoding.word, encoding.tokens);
}

// Merges may have made a marker of plain text, which is then spelt by its bytes instead.
void BytePairTokenizer::SpellMarkers(std::size_t begin, Encoding& encoding) const {
  const std::vector<TokenId> made(encoding.tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                                  encoding.tokens.end());
  encoding.tokens.resize(begin);
  for (const TokenId token : made) {
    if (!std::ranges::binary_search(encoding.more_markers, token)) {
      encoding.tokens.push_back(token);
      continue;
    }
    const std::string_view bytes = BytesOf(token);
    for (std::size_t i = 0; i < bytes.size();) {
      const std::size_t size = CharacterAt(bytes, i).size;
      AppendBytes(bytes.substr(i, size), encoding.tokens);
      i += size;
    }
  }
}

void BytePairTokenizer::AppendBytes(std::string_view character,
                                    std::vector<TokenId>& tokens) const {
  const std::size_t begin = tokens.size();
  for (const char byte : character) {
    const TokenId token = parts_.token_of_byte[static_cast<unsigned char>(byte)];
    if (token == BytePairParts::kNoToken) {
      tokens.resize(begin);
      tokens.insert(tokens.end(), parts_.replacement.begin(), parts_.replacement.end());
      return;
    }
    tokens.push_back(token);
  }
}

std::string_view BytePairTokenizer::BytesOf(TokenId token) const {
  SUBMIX_CHECK(token >= 0 && token < vocab_size(), "the token id is not in the vocabulary");
  return parts_.bytes_of_token[static_cast<std::size_t>(token)];
}

std::string BytePairTokenizer::Decode(std::span<const TokenId> tokens) const {
  std::string bytes;
  for (const TokenId token : tokens) {
    const bool is_first = bytes.empty();
    bytes += BytesOf(token);
    if (is_first && parts_.first_piece_loses_spaces) std::erase(bytes, ' ');
  }
  const std::size_t spaces = std::min(bytes.find_first_not_of(' '), bytes.size());
  bytes.erase(0, std::min(spaces, static_cast<std::size_t>(parts_.stripped_spaces)));
  return bytes;
}

}  // namespace submix::tokenizer
