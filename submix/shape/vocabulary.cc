#include "submix/shape/vocabulary.h"

#include <algorithm>

namespace submix::shape {

Vocabulary::Vocabulary(std::span<const std::string> bytes) : begin_{0} {
  for (std::size_t token = 0; token < bytes.size(); ++token) {
    text_ += bytes[token];
    begin_.push_back(text_.size());
    longest_ = std::max(longest_, bytes[token].size());
    if (!bytes[token].empty()) sorted_.push_back(static_cast<base::TokenId>(token));
  }
  std::ranges::stable_sort(sorted_, {}, [this](base::TokenId token) { return Bytes(token); });
  common_.resize(sorted_.size());
  for (std::size_t rank = 1; rank < sorted_.size(); ++rank) {
    const std::string_view before = this->bytes(rank - 1);
    const std::string_view here = this->bytes(rank);
    common_[rank] =
        static_cast<std::size_t>(std::ranges::mismatch(before, here).in1 - before.begin());
  }
}

std::string_view Vocabulary::Bytes(base::TokenId token) const {
  if (token < 0 || token + 1 >= std::ssize(begin_)) return {};
  const auto t = static_cast<std::size_t>(token);
  return std::string_view(text_).substr(begin_[t], begin_[t + 1] - begin_[t]);
}

Vocabulary::Range Vocabulary::Narrow(Range range, std::size_t depth, unsigned char byte) const {
  // -1 where the token has no byte there: it stands first.
  const auto at = [&](base::TokenId token) {
    const std::string_view text = Bytes(token);
    return depth < text.size() ? int{static_cast<unsigned char>(text[depth])} : -1;
  };
  const auto begin = sorted_.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(range.last);
  const auto first = std::partition_point(begin + static_cast<std::ptrdiff_t>(range.first), end,
                                          [&](base::TokenId token) { return at(token) < byte; });
  const auto last =
      std::partition_point(first, end, [&](base::TokenId token) { return at(token) == byte; });
  return {static_cast<std::size_t>(first - begin), static_cast<std::size_t>(last - begin)};
}

}  // namespace submix::shape
