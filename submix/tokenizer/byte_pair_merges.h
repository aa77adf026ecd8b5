// The merges of a byte-pair encoding and their application to one word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "submix/base/ids.h"

namespace submix::tokenizer {

// What two neighbouring tokens merge into; the merge of the lowest rank in a word goes first, among
// equal ranks the leftmost.
struct BytePairMerge {
  std::int32_t rank = 0;
  base::TokenId merged = 0;
};

// Thread-safe once built.
class BytePairMerges {
 public:
  // Room for at most num_merges merges.
  explicit BytePairMerges(std::size_t num_merges);

  // Returns false, and changes nothing, if the pair has a merge already.
  bool Add(base::TokenId left, base::TokenId right, BytePairMerge merge);
  // Null if the pair has none.
  const BytePairMerge* Find(base::TokenId left, base::TokenId right) const;

  // Merges `word` (tokens of single bytes) as far as it goes and appends the result to `tokens`.
  // O(n log n) for a word of n bytes.
  void Apply(std::span<const base::TokenId> word, std::vector<base::TokenId>& tokens) const;

 private:
  struct Slot {
    std::uint64_t pair;
    BytePairMerge merge;
  };

  std::size_t SlotOf(std::uint64_t pair) const;
  void ApplyToShort(std::span<const base::TokenId> word, std::vector<base::TokenId>& tokens) const;
  void ApplyToLong(std::span<const base::TokenId> word, std::vector<base::TokenId>& tokens) const;

  std::vector<Slot> slots_;  // open addressing, linear probing, at most half full
  std::size_t num_used_ = 0;
};

}  // namespace submix::tokenizer
