// Soundness does not depend on this file: it reads tokens that are paid for.
//
// From tokens to text that may be shown: holds back what could still turn into a stop string, and
// bytes of an unfinished UTF-8 character. The text is valid UTF-8: a model over bytes can draw some
// that are none, which become U+FFFD.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace submix::engine {

// One sequence's output. One thread at a time.
class TextStream {
 public:
  // Stop strings must not be empty.
  explicit TextStream(std::vector<std::string> stop) : stop_(std::move(stop)) {}

  // Adds a token's bytes; returns the text that is certain now. After a stop string was found,
  // stopped() is true, and nothing of it nor after it is ever returned.
  std::string Add(std::string_view bytes);
  // The rest, at the end of the sequence.
  std::string Flush();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stop_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace submix::engine
