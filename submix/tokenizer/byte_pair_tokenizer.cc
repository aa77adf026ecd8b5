#include "submix/tokenizer/byte_pair_tokenizer.h"

#include <algorithm>
#include <utility>

#include "submix/base/check.h"
#include "submix/tokenizer/characters.h"

namespace submix::tokenizer {
namespace {

using base::TokenId;

// Which ids text never becomes.
std::vector<bool> AreMarkers(const BytePairParts& parts) {
  std::vector<bool> is_marker(parts.bytes_of_token.size());
  for (const auto& [content, id] : parts.markers) is_marker[static_cast<std::size_t>(id)] = true;
  return is_marker;
}

PieceIndex IndexOfWords(const BytePairParts& parts) {
  const std::vector<bool> is_marker = AreMarkers(parts);
  PieceIndex words(parts.bytes_of_token.size());
  for (std::size_t id = 0; id < parts.bytes_of_token.size(); ++id) {
    if (!is_marker[id]) words.Add(parts.bytes_of_token[id], static_cast<TokenId>(id));
  }
  return words;
}

}  // namespace

struct BytePairTokenizer::Encoding {
  explicit Encoding(std::size_t text_size) : recent_words(text_size) {}

  std::vector<TokenId> tokens;
  std::vector<TokenId> word;  // before its merges
  RecentWords recent_words;
};

BytePairTokenizer::BytePairTokenizer(BytePairParts parts) : parts_(std::move(parts)) {
  if (parts_.ignore_merges) words_ = IndexOfWords(parts_);
}

std::size_t BytePairTokenizer::longest_token_bytes() const {
  constexpr std::size_t kUnlimited = Normalizer::kUnlimited;
  if (!parts_.pre_tokenizer.keeps_every_byte()) return kUnlimited;
  return std::min(kUnlimited, parts_.longest_piece_bytes * parts_.normalizer.most_bytes_of_one());
}

TokenId BytePairTokenizer::largest_text_token() const {
  const std::vector<bool> is_marker = AreMarkers(parts_);
  const auto last = std::find(is_marker.rbegin(), is_marker.rend(), false);
  return static_cast<TokenId>(is_marker.rend() - last) - 1;
}

std::optional<TokenId> BytePairTokenizer::special_token(std::string_view content) const {
  const auto marker = parts_.markers.find(content);
  if (marker == parts_.markers.end()) return std::nullopt;
  return marker->second;
}

std::vector<TokenId> BytePairTokenizer::Encode(std::string_view bytes) const {
  Encoding encoding(bytes.size());
  std::size_t begin = 0;
  while (const auto literal = parts_.literals.Find(bytes, begin)) {
    EncodeSegment(bytes.substr(begin, literal->begin - begin), begin == 0, encoding);
    encoding.tokens.push_back(literal->id);
    begin = literal->end;
  }
  EncodeSegment(bytes.substr(begin), begin == 0, encoding);
  return std::move(encoding.tokens);
}

void BytePairTokenizer::EncodeSegment(std::string_view segment, bool is_at_start,
                                      Encoding& encoding) const {
  std::string normalized;
  if (!parts_.normalizer.is_identity()) {
    normalized = parts_.normalizer.Apply(segment, is_at_start);
    segment = normalized;
  }
  for (const std::string_view word : parts_.pre_tokenizer.Cut(segment)) {
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
    encoding.word.clear();
    for (std::size_t i = 0; i < word.size();) {
      const auto add_byte = [&](char byte) {
        encoding.word.push_back(parts_.token_of_byte[static_cast<unsigned char>(byte)]);
      };
      if (parts_.token_of_character.empty()) {
        add_byte(word[i++]);
        continue;
      }
      const Character character = CharacterAt(word, i);
      const auto known = parts_.token_of_character.find(character.code_point);
      if (known != parts_.token_of_character.end()) {
        encoding.word.push_back(known->second);
      } else {
        std::ranges::for_each(word.substr(i, character.size), add_byte);
      }
      i += character.size;
    }
    parts_.merges.Apply(encoding.word, encoding.tokens);
  }
  encoding.recent_words.Remember(word, num_earlier, encoding.tokens);
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
