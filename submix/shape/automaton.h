// A deterministic automaton over bytes that accepts exactly the texts of an expression. A state is
// what was read so far; from every state some accepted text can still be reached.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "submix/base/status.h"
#include "submix/shape/expression.h"

namespace submix::shape {

// The bounds of what is compiled, whoever asks: some 30 MB and half a second.
struct AutomatonLimits {
  int positions = 1 << 18;  // states of the automaton that may be in several at once
  int states = 1 << 15;
  std::int64_t work = 1 << 24;  // positions looked at
};

// Immutable, thread-safe.
class Automaton {
 public:
  static constexpr int kNone = -1;  // no accepted text begins so

  // Errors: kInvalidArgument where a bound is passed, or no text at all, or only the empty one, is
  // accepted.
  static base::StatusOr<Automaton> Compile(const Expression& expression,
                                           const AutomatonLimits& limits = {});

  int start() const { return 0; }
  int num_states() const { return static_cast<int>(is_accepting_.size()); }
  bool accepts(int state) const { return is_accepting_[static_cast<std::size_t>(state)]; }
  // kNone, or the state behind the byte.
  int Next(int state, unsigned char byte) const {
    return next_[static_cast<std::size_t>(state) * num_classes_ + class_of_[byte]];
  }
  // Accepted, and nothing may follow.
  bool IsComplete(int state) const;
  // The one byte that must follow; none where the text may end, or several may follow.
  std::optional<unsigned char> ForcedByte(int state) const;

  // Bytes of a class are never told apart.
  std::size_t num_classes() const { return num_classes_; }
  std::size_t class_of(unsigned char byte) const { return class_of_[byte]; }

 private:
  Automaton() = default;

  std::array<std::uint8_t, 256> class_of_{};
  std::size_t num_classes_ = 0;
  std::vector<std::int32_t> next_;  // [states, classes]
  std::vector<bool> is_accepting_;  // [states]
};

}  // namespace submix::shape
