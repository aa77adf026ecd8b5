// The tokenizer of all supported files: normalize, cut into words, merge byte pairs inside a word.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "submix/base/status.h"
#include "submix/tokenizer/added_tokens.h"
#include "submix/tokenizer/byte_pair_merges.h"
#include "submix/tokenizer/merge_boundaries.h"
#include "submix/tokenizer/normalizer.h"
#include "submix/tokenizer/piece_index.h"
#include "submix/tokenizer/pre_tokenizer.h"
#include "submix/tokenizer/recent_words.h"
#include "submix/tokenizer/tokenizer.h"
#include "submix/tokenizer/tokenizer_file.h"

namespace submix::tokenizer {

// What files say, checked: every id below is in the vocabulary, and no merge, byte or character
// gives a special token.
struct BytePairParts {
  // The bytes that each token stands for in a text, index = id; none for special ones.
  std::vector<std::string> bytes_of_token;
  std::map<std::string, AddedToken, std::less<>> added_tokens;  // by content
  std::size_t longest_piece_bytes = 0;  // of normalized text, that a token stands for
  base::TokenId end_of_text = 0;
  std::vector<base::TokenId> prefix;

  AddedTokens literals;  // matched in the text as it is
  Normalizer normalizer;
  AddedTokens normalized_literals;  // matched in what that makes of it
  Normalizer word_normalizer;       // of the text between two matches
  PreTokenizer pre_tokenizer = PreTokenizer({});

  // What a word is before its first merge: the bytes' tokens, but for the characters below.
  std::array<base::TokenId, 256> token_of_byte{};  // kNoToken: none
  static constexpr base::TokenId kNoToken = -1;
  std::vector<base::TokenId> replacement;  // U+FFFD, for characters with such a byte
  std::unordered_map<std::int32_t, base::TokenId> token_of_character;
  BytePairMerges merges = BytePairMerges(0);
  std::optional<MergeBoundaries> boundaries;  // of the merges; absent: words are short anyhow
  bool ignore_merges = false;                 // a word that is an entry is that token,
  std::vector<bool> is_word;                  // if it is one of these; index = id

  int stripped_spaces = 0;                // what Decode takes off a text's beginning
  bool first_piece_loses_spaces = false;  // and off its first token
};

// A tokenizer.json with a model of type BPE, or what says the same, and what the other files of
// `directory` say of its tokens. Errors: those of Tokenizer::Load.
//
// A merge into or of a special token is left out, since there it never happens either: the library
// cuts special tokens out of the text before.
base::StatusOr<BytePairParts> ReadParts(const TokenizerFile& file, const std::string& directory);

class BytePairTokenizer final : public Tokenizer {
 public:
  explicit BytePairTokenizer(BytePairParts parts);
  BytePairTokenizer(const BytePairTokenizer&) = delete;
  BytePairTokenizer& operator=(const BytePairTokenizer&) = delete;

  int vocab_size() const override { return static_cast<int>(parts_.bytes_of_token.size()); }
  std::size_t longest_token_bytes() const override;
  base::TokenId end_of_text() const override { return parts_.end_of_text; }
  std::vector<base::TokenId> prefix() const override { return parts_.prefix; }
  base::TokenId largest_text_token() const override;
  std::optional<base::TokenId> special_token(std::string_view content) const override;
  std::optional<base::TokenId> added_token(std::string_view content) const override;
  base::StatusOr<std::vector<base::TokenId>> Encode(std::string_view bytes) const override;
  base::StatusOr<std::vector<base::TokenId>> EncodeTemplated(
      std::string_view text, const std::vector<bool>& is_of_template,
      std::span<const base::TokenId> more_markers) const override;
  std::vector<base::TokenId> MarkersIn(std::string_view source) const override;
  std::string Decode(std::span<const base::TokenId> tokens) const override;
  std::string TokenBytes(base::TokenId token) const override { return std::string(BytesOf(token)); }

 private:
  struct Encoding;  // one text on its way

  std::string_view BytesOf(base::TokenId token) const;
  void EncodeUnnormalized(MarkedText segment, bool is_at_start, Encoding& encoding) const;
  void EncodePlain(std::string_view piece, bool is_at_start, Encoding& encoding) const;
  void EncodeWord(std::string_view word, Encoding& encoding) const;
  void MergeWord(std::string_view word, Encoding& encoding) const;
  void SpellMarkers(std::size_t begin, Encoding& encoding) const;
  void AppendBytes(std::string_view character, std::vector<base::TokenId>& tokens) const;

  const BytePairParts parts_;
  std::optional<PieceIndex> words_;  // with ignore_merges; views into parts_
};

}  // namespace submix::tokenizer
