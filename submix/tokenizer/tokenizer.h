// Soundness does not depend on this file: it reads tokens that are paid for.
//
// GPT-2's byte-level BPE, read from Hugging Face's vocab.json and merges.txt. Exact for any bytes,
// invalid UTF-8 included: Decode(Encode(bytes)) == bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"

namespace submix::tokenizer {

// Immutable, thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Reads `directory`/vocab.json and merges.txt. Errors: kNotFound; kInvalidArgument naming the
  // file, and the line or entry: not JSON, ids that are not 0 .. V-1, a merge whose parts or result
  // are not in the vocabulary, a byte without a token, no "<|endoftext|>".
  static base::StatusOr<std::unique_ptr<Tokenizer>> Load(const std::string& directory);

  virtual int vocab_size() const = 0;
  // The most bytes that a token stands for: text of n bytes has at least n / that many tokens.
  virtual std::size_t longest_token_bytes() const = 0;
  // The id of "<|endoftext|>". Encode never produces it from text: user text cannot forge a
  // boundary.
  virtual base::TokenId end_of_text() const = 0;
  virtual std::vector<base::TokenId> Encode(std::string_view bytes) const = 0;
  // The bytes of the tokens; end_of_text gives nothing. Requires: ids in [0, vocab_size).
  virtual std::string Decode(std::span<const base::TokenId> tokens) const = 0;
};

}  // namespace submix::tokenizer
