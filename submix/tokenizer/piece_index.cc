#include "submix/tokenizer/piece_index.h"

#include <bit>
#include <functional>

#include "submix/base/check.h"

namespace submix::tokenizer {

PieceIndex::PieceIndex(std::size_t num_pieces) : slots_(std::bit_ceil(2 * num_pieces + 2)) {}

std::size_t PieceIndex::SlotOf(std::string_view piece, std::size_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot].id != kFree && (slots_[slot].hash != hash || slots_[slot].piece != piece)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

bool PieceIndex::Add(std::string_view piece, base::TokenId id) {
  const std::size_t hash = std::hash<std::string_view>{}(piece);
  Slot& slot = slots_[SlotOf(piece, hash)];
  if (slot.id != kFree) return false;
  SUBMIX_CHECK(2 * (num_used_ + 1) <= slots_.size(), "more pieces than there is room for");
  slot = Slot{piece, hash, id};
  ++num_used_;
  return true;
}

std::optional<base::TokenId> PieceIndex::Find(std::string_view piece) const {
  const Slot& slot = slots_[SlotOf(piece, std::hash<std::string_view>{}(piece))];
  if (slot.id == kFree) return std::nullopt;
  return slot.id;
}

}  // namespace submix::tokenizer
