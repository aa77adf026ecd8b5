// Random stopping, in its sound form (privacy.md on stopping): the number of answers is drawn
// beforehand, independently of all data, and may be announced. It costs nothing: the announcement
// is a function of independent randomness. (The seed's form, min(tau, the protocol's own private
// stop), is not sound: Proposition C.3's proof needs every answer to have positive probability of
// being last.)
#pragma once

#include <cstdint>

#include "submix/base/random.h"

namespace submix::mechanism {

// The state of one conversation: how many answers are left. Value; one thread at a time.
class RandomStopping {
 public:
  // tau uniform on {1 .. horizon} (the seed's C times B): answers 1 .. tau are given.
  // Requires: horizon >= 1.
  static RandomStopping Draw(base::RandomSource& random, std::uint64_t horizon) {
    return RandomStopping(1 + random.NextBelow(horizon));
  }
  // Continues one that was stored.
  static RandomStopping FromAnswersLeft(std::uint64_t answers_left) {
    return RandomStopping(answers_left);
  }

  std::uint64_t answers_left() const { return answers_left_; }
  // Whether one more answer may be given; counts it. Once false, always false.
  bool ShouldAnswer() {
    if (answers_left_ == 0) return false;
    --answers_left_;
    return true;
  }

 private:
  explicit RandomStopping(std::uint64_t answers_left) : answers_left_(answers_left) {}

  std::uint64_t answers_left_;
};

}  // namespace submix::mechanism
