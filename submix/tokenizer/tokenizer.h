// Soundness does not depend on this file: it reads tokens that are paid for.
//
// Text to tokens and back, as a model's files say: byte-pair encodings of bytes (GPT-2, SmolLM,
// Llama 3, Qwen) and of characters with bytes for what has no entry (Llama 2, Mistral, Gemma).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"

namespace submix::tokenizer {

// Immutable, thread-safe.
//
// Every byte string is text, ill-formed UTF-8 included, and comes back: Decode(Encode(bytes)) is
//   GPT-2, SmolLM, Llama 3   `bytes`
//   Qwen                     the NFC of its well-formed stretches
//   Llama 2, Mistral, Gemma  `bytes` with a space for every U+2581, which is how they spell a space
// but for what the files themselves lose:
//   - A character, or a byte of no UTF-8, that has no entry for one of its bytes becomes U+FFFD:
//     SmolLM's files lack some control characters, and some the bytes that no UTF-8 has. Hugging
//     Face's library makes its unknown token of it, or drops it.
//   - With a pre-tokenizer or decoder Metaspace, spaces at the beginning; with a Split of behaviour
//     Removed, what that removes; beside an added token with lstrip or rstrip, white space.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Reads `directory`/tokenizer.json, or where there is none, vocab.json and merges.txt (GPT-2);
  // and what tokenizer_config.json says of tokens, with added_tokens.json and
  // special_tokens_map.json where that lists no added tokens, as transformers does. Errors:
  // kNotFound; kInvalidArgument naming the file and the field, line or entry: whatever is not known
  // or not supported, ids that are not 0 .. V-1, an added token with an id that Hugging Face's
  // library does not give it, a merge whose parts or result are not in the vocabulary, no bytes for
  // U+FFFD, no end of text.
  static base::StatusOr<std::unique_ptr<Tokenizer>> Load(const std::string& directory);
  // The same, for the model in `directory`, whose vocabulary has `model_vocab_size` rows. More rows
  // than entries are padding; more entries than rows will do if no text and no document needs one
  // of those. Errors: also kFailedPrecondition naming the file if one does.
  static base::StatusOr<std::unique_ptr<Tokenizer>> LoadFor(const std::string& directory,
                                                            int model_vocab_size);
  // The names of the files that go with a model's text: those that Load reads, and of those that
  // say how conversations are written and where answers end, the ones that are there. Errors:
  // kNotFound naming what is missing.
  static base::StatusOr<std::vector<std::string>> FileNames(const std::string& directory);

  virtual int vocab_size() const = 0;
  // The most bytes of text that a token stands for, below 2^33: text of n bytes has at least
  // n / that many tokens. Normalization makes it more than a token's own bytes.
  virtual std::size_t longest_token_bytes() const = 0;
  // What ends a document: eos_token of tokenizer_config.json, or else the one of "<|endoftext|>",
  // "<|end_of_text|>", "</s>" and "<eos>" that is there. Encode never produces it.
  virtual base::TokenId end_of_text() const = 0;
  // What the file's post-processor puts before a whole text (BOS), unless tokenizer_config.json's
  // add_bos_token says otherwise and its tokenizer_class heeds that (Llama's, Gemma's). Encode
  // leaves it out, EncodePrompt adds it; what would be put after the text (EOS) nobody asks for.
  virtual std::vector<base::TokenId> prefix() const { return {}; }
  // The largest id that Encode gives.
  virtual base::TokenId largest_text_token() const { return vocab_size() - 1; }
  // The id of a special token: an added token with "special": true, or one that a configuration
  // names (eos_token and the like). Encode never gives one, whatever the text says: user text
  // cannot forge a boundary, a role or a tool's call.
  virtual std::optional<base::TokenId> special_token(std::string_view /*content*/) const {
    return std::nullopt;
  }
  // The id of an added token, special or not.
  virtual std::optional<base::TokenId> added_token(std::string_view content) const {
    return special_token(content);
  }

  // Added tokens that are not special (Gemma's line ends and tags of HTML, Qwen's "<think>", words
  // of a fine-tuning) are matched in the text as Hugging Face's library matches them. Errors:
  // kInvalidArgument, without the text, where the file's pattern goes back more often on it than is
  // allowed (no pattern of the families above does, on any text); kInternal where there is no
  // memory for a search.
  virtual base::StatusOr<std::vector<base::TokenId>> Encode(std::string_view bytes) const = 0;
  // The text of a chat, of which some bytes were written by a template and all others by people
  // (`is_of_template`, one flag a byte). As Encode, but for markers: special tokens, and those of
  // `more_markers`. They are matched as Hugging Face's library matches them, but only where every
  // byte of their content is the template's; else they are plain text that never becomes their ids.
  // White space beside a marker that its lstrip or rstrip takes may be anybody's. What stands
  // between two matches is one text, whoever wrote it. Errors: those of Encode. Requires: as many
  // flags as bytes; `more_markers` as MarkersIn gives them.
  virtual base::StatusOr<std::vector<base::TokenId>> EncodeTemplated(
      std::string_view text, const std::vector<bool>& /*is_of_template*/,
      std::span<const base::TokenId> /*more_markers*/) const {
    return Encode(text);  // without added tokens there is nothing else
  }
  // The added tokens that are not special and stand in `source`, a chat template's: sorted. Not
  // those that are one character or all white space, which mark nothing and stand in any text.
  virtual std::vector<base::TokenId> MarkersIn(std::string_view /*source*/) const { return {}; }
  // What a model reads of a text from the text's beginning: prefix(), then Encode.
  base::StatusOr<std::vector<base::TokenId>> EncodePrompt(std::string_view bytes) const;
  // What a document begins with where nothing precedes it: prefix(), or end_of_text() if that is
  // empty.
  std::vector<base::TokenId> document_start() const;
  // The bytes of a text from its beginning. Special tokens give nothing. Requires: ids in
  // [0, vocab_size).
  virtual std::string Decode(std::span<const base::TokenId> tokens) const = 0;
  // The bytes of a token that follows others: where Decode takes a space off the beginning of a
  // text, this does not. Requires: as Decode.
  virtual std::string TokenBytes(base::TokenId token) const { return Decode({&token, 1}); }
};

}  // namespace submix::tokenizer
