#include "submix/eval/audits/neighbouring_worlds.h"

#include <algorithm>
#include <utility>

#include "submix/base/check.h"

namespace submix::eval {

std::vector<RowReplacement> ReplacedByPublic(int part, int halves) {
  std::vector<RowReplacement> replacements;
  for (int half = 0; half < halves; ++half) {
    replacements.push_back({1 + static_cast<std::size_t>(part * halves + half), 0});
  }
  return replacements;
}

NeighbouringWorlds::NeighbouringWorlds(int num_parts, int halves, int vocab_size,
                                       std::vector<RowReplacement> replacements)
    : rows_(static_cast<std::size_t>(num_parts * halves)),
      halves_(halves),
      vocab_size_(static_cast<std::size_t>(vocab_size)),
      replacements_(std::move(replacements)) {
  for (const RowReplacement& replacement : replacements_) {
    SUBMIX_CHECK(replacement.row >= 1 && replacement.row <= rows_, "not a row of a part's member");
  }
}

base::Status NeighbouringWorlds::Map(std::span<const float> logits) {
  const auto public_logits = logits.first(vocab_size_);
  const auto members = logits.subspan(vocab_size_, rows_ * vocab_size_);
  SUBMIX_RETURN_IF_ERROR(with_.Map(public_logits, members, halves_, {}));
  replaced_.assign(members.begin(), members.end());
  for (const RowReplacement& replacement : replacements_) {
    const auto by = logits.subspan(replacement.by * vocab_size_, vocab_size_);
    std::copy(by.begin(), by.end(),
              replaced_.begin() + static_cast<std::ptrdiff_t>((replacement.row - 1) * vocab_size_));
  }
  return without_.Map(public_logits, replaced_, halves_, {});
}

}  // namespace submix::eval
