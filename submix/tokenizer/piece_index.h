// Finds the entries of a vocabulary by their bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "submix/base/ids.h"

namespace submix::tokenizer {

// Thread-safe once built. The bytes of the pieces must outlive it.
class PieceIndex {
 public:
  // Room for at most num_pieces pieces.
  explicit PieceIndex(std::size_t num_pieces);

  // Returns false, and changes nothing, if the piece is there already. Requires: id >= 0.
  bool Add(std::string_view piece, base::TokenId id);
  std::optional<base::TokenId> Find(std::string_view piece) const;

 private:
  struct Slot {
    std::string_view piece;
    std::size_t hash = 0;
    base::TokenId id = kFree;
  };
  static constexpr base::TokenId kFree = -1;

  // The slot that holds the piece, or the free one where it belongs.
  std::size_t SlotOf(std::string_view piece, std::size_t hash) const;

  std::vector<Slot> slots_;  // open addressing, linear probing, at most half full
  std::size_t num_used_ = 0;
};

}  // namespace submix::tokenizer
