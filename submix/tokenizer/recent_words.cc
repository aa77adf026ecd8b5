#include "submix/tokenizer/recent_words.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace submix::tokenizer {
namespace {

constexpr std::size_t kMostSlots = 4096;

}  // namespace

RecentWords::RecentWords(std::size_t text_size)
    : slots_(std::bit_ceil(std::clamp(text_size / 8, std::size_t{1}, kMostSlots))) {}

std::size_t RecentWords::SlotOf(std::string_view word) const {
  return std::hash<std::string_view>{}(word) & (slots_.size() - 1);
}

bool RecentWords::AppendTokens(std::string_view word, std::vector<base::TokenId>& tokens) const {
  const Slot& slot = slots_[SlotOf(word)];
  if (std::string_view(slot.word.data(), slot.size) != word) return false;
  const std::size_t size = tokens.size();
  tokens.resize(size + slot.num_tokens);
  std::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(slot.begin), slot.num_tokens,
              tokens.begin() + static_cast<std::ptrdiff_t>(size));
  return true;
}

void RecentWords::Remember(std::string_view word, std::size_t begin,
                           const std::vector<base::TokenId>& tokens) {
  Slot& slot = slots_[SlotOf(word)];
  if (word.size() > slot.word.size()) return;
  std::ranges::copy(word, slot.word.begin());
  slot.size = static_cast<std::uint8_t>(word.size());
  slot.num_tokens = static_cast<std::uint8_t>(tokens.size() - begin);
  slot.begin = begin;
}

}  // namespace submix::tokenizer
