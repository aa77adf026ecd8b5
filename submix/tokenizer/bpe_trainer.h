// Trains a byte-level BPE from text: `submix tokenizer`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "submix/base/status.h"

namespace submix::tokenizer {

// Counts words of text fed in pieces, then learns merges. One thread at a time.
class BpeTrainer {
 public:
  // Counts the pre-tokens of one document (any bytes).
  void AddText(std::string_view text);
  // Learns merges until the vocabulary has vocab_size entries (256 bytes + merges + "<|endoftext|>"
  // as the last id) and writes vocab.json and merges.txt to `directory` (must exist). Ties are
  // broken by the merged bytes, so equal text gives equal files. Errors: kInvalidArgument if
  // vocab_size < 257 or the text has too few distinct pairs.
  base::Status Train(int vocab_size, const std::string& directory) const;

 private:
  std::unordered_map<std::string, std::int64_t> word_counts_;
};

}  // namespace submix::tokenizer
