// What happens to text before it is cut into words: tokenizer.json's `normalizer`, and the
// pre-tokenizers that only add and replace.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace submix::tokenizer {

// Steps in turn. Any bytes are text: what is not well-formed UTF-8 stays as it is. Immutable,
// thread-safe. No step makes anything of nothing.
class Normalizer {
 public:
  struct Prepend {
    std::string content;
    bool only_at_start = false;   // not after an entry that was matched literally
    bool unless_present = false;  // not if the text begins with it
  };
  struct Replace {
    std::string pattern;  // not empty
    std::string content;
  };
  struct Compose {};  // NFC
  using Step = std::variant<Prepend, Replace, Compose>;

  Normalizer() = default;
  explicit Normalizer(std::vector<Step> steps);

  bool is_identity() const { return steps_.empty(); }
  // At most so many bytes of text become one: 1 if text never gets shorter, kUnlimited if it may
  // vanish.
  static constexpr std::size_t kUnlimited = std::size_t{1} << 32;
  std::size_t most_bytes_of_one() const;
  // One byte of text becomes at most so many.
  static double GrowthOf(const std::vector<Step>& steps);
  // What a tokenizer.json may ask for; those of the model families stay below 13.
  static constexpr double kMostGrowth = 64;
  std::string Apply(std::string_view text, bool is_at_start) const {
    return Apply(text, is_at_start, nullptr);
  }
  // Keeps account of which bytes are a template's, one flag a byte of `text`: what is made of a
  // byte that is not, is not either; what is made of nothing is. `is_of_template` may be null.
  std::string Apply(std::string_view text, bool is_at_start,
                    std::vector<bool>* is_of_template) const;

 private:
  std::vector<Step> steps_;
};

// `text` with every occurrence of `pattern` replaced, from the left.
std::string ReplaceAll(std::string_view text, std::string_view pattern, std::string_view content);

}  // namespace submix::tokenizer
