// Where no merge can ever join what lies left and right: a tokenizer whose text is one word (Llama
// 2, Gemma) is cut there into short stretches that merge independently, with the same result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace submix::tokenizer {

// Thread-safe once built.
class MergeBoundaries {
 public:
  explicit MergeBoundaries(std::size_t num_merges);

  // Some merge joins `left` and `right`, which are texts of whole characters.
  void AddMerge(std::string_view left, std::string_view right);

  // The end of the stretch of `word` that begins at `begin`: up to there, merges may join every
  // character with the next. Linear time. Requires: begin < word.size().
  std::size_t StretchEnd(std::string_view word, std::size_t begin) const;

 private:
  std::size_t BitOf(std::int32_t last, std::int32_t first) const;

  // Two characters' bit is set if some merge joins them; or by chance, which only makes a stretch
  // longer than it need be.
  std::vector<bool> is_joined_;
};

}  // namespace submix::tokenizer
