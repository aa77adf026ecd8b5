#include "submix/tokenizer/literal_entries.h"

#include <algorithm>
#include <span>
#include <utility>

namespace submix::tokenizer {

LiteralEntries::LiteralEntries(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::ranges::sort(entries_, {}, &Entry::content);
  for (const Entry& entry : entries_) {
    is_first_[static_cast<unsigned char>(entry.content.front())] = true;
  }
}

std::optional<LiteralEntries::Match> LiteralEntries::Find(std::string_view text,
                                                          std::size_t start) const {
  if (entries_.empty()) return std::nullopt;
  for (std::size_t begin = start; begin < text.size(); ++begin) {
    if (!is_first_[static_cast<unsigned char>(text[begin])]) continue;
    if (const Entry* entry = LongestAt(text, begin)) {
      return Match{begin, begin + entry->content.size(), entry->id};
    }
  }
  return std::nullopt;
}

// Narrows the entries byte by byte to those that begin as the text does; the shortest of them,
// which alone may be wholly matched, is the first.
const LiteralEntries::Entry* LiteralEntries::LongestAt(std::string_view text,
                                                       std::size_t begin) const {
  const Entry* longest = nullptr;
  std::span<const Entry> candidates = entries_;
  for (std::size_t depth = 0; begin + depth < text.size(); ++depth) {
    const auto byte_of = [depth](const Entry& entry) {
      return depth < entry.content.size() ? static_cast<unsigned char>(entry.content[depth]) : -1;
    };
    const int byte = static_cast<unsigned char>(text[begin + depth]);
    const auto first = std::ranges::lower_bound(candidates, byte, {}, byte_of);
    const auto last = std::ranges::upper_bound(candidates, byte, {}, byte_of);
    candidates = std::span(first, last);
    if (candidates.empty()) break;
    if (candidates.front().content.size() == depth + 1) longest = &candidates.front();
  }
  return longest;
}

}  // namespace submix::tokenizer
