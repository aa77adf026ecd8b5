// The entries that tokenizer.json lists as `added_tokens`: text that is matched literally, before
// it is cut into words and merged. Hugging Face's library decides where; so does this.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/ids.h"

namespace submix::tokenizer {

struct AddedToken {
  std::string content;  // not empty
  base::TokenId id = 0;
  bool is_special = false;
  bool is_single_word = false;  // not where a letter, digit or mark stands beside it
  bool strips_left = false;     // takes the white space before it
  bool strips_right = false;
  bool is_normalized = false;  // matches in normalized text, its own content normalized as well
};

// Text of which some bytes may be a marker's. A marker is matched where all of its bytes are such.
struct MarkedText {
  std::string_view text;
  std::vector<bool> is_of_template;             // of each byte; empty: none is
  std::span<const base::TokenId> more_markers;  // beside those that are special; sorted
};

// Immutable, thread-safe.
class AddedTokens {
 public:
  struct Match {
    std::size_t begin = 0;
    std::size_t end = 0;
    base::TokenId id = 0;
  };

  AddedTokens() = default;
  // Requires: contents that are not empty, each once.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }
  bool contains_marker(std::span<const base::TokenId> more_markers) const;

  // From the left, at each place the longest; a marker only where every byte is of the template. A
  // single word that stands beside a letter is passed over with all its bytes. A match may lie in
  // white space that the one before it took, but for one that takes white space to its left: that
  // begins where the one before it ended, or is none.
  std::vector<Match> FindAll(const MarkedText& marked) const;

 private:
  const AddedToken* LongestAt(const MarkedText& marked, std::size_t begin,
                              std::size_t template_end) const;

  std::vector<AddedToken> tokens_;    // sorted by content
  std::array<bool, 256> is_first_{};  // whether some token begins with this byte
};

}  // namespace submix::tokenizer
