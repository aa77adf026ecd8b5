// Trains a byte-level BPE from text: `submix tokenizer`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "submix/base/status.h"

namespace submix::tokenizer {

// Counts words of text fed in pieces, then learns merges. One thread at a time.
class BpeTrainer {
 public:
  // Counts the pre-tokens of one document (any bytes). Errors: kInternal where there is no memory.
  base::Status AddText(std::string_view text);
  // Learns merges until the vocabulary has vocab_size entries (256 bytes + merges + "<|endoftext|>"
  // as the last id) and writes vocab.json and merges.txt to `directory` (must exist). Each merge
  // joins the pair that stands in the words most often; ties are broken by the merged bytes, then
  // by the shorter left part, so equal text gives equal files. A pair whose merged bytes are a
  // token already becomes a merge into that token and takes no new id. Errors: kInvalidArgument if
  // vocab_size < 257 or the text has too few distinct pairs; kNotFound, kResourceExhausted and
  // kInternal of writing.
  base::Status Train(int vocab_size, const std::string& directory) const;

 private:
  // Lets a word be looked up without making a string of it.
  struct WordHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const {
      return std::hash<std::string_view>{}(word);
    }
  };

  std::unordered_map<std::string, std::int64_t, WordHash, std::equal_to<>> word_counts_;
};

}  // namespace submix::tokenizer
