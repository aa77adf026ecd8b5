// The seam between language models and the bridge: append tokens to a sequence, get the public
// model's and every member's next-token logits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "submix/base/for_each.h"
#include "submix/base/ids.h"
#include "submix/base/status.h"

namespace submix::ensemble {

using SequenceId = std::int64_t;

// M = num_members(), V = vocab_size(). One thread at a time.
// Every row is always computed, and no row depends on the values in other rows (contract 6). A row
// may hold NaN or infinity if its member is broken; the caller decides what that means.
class Predictor {
 public:
  virtual ~Predictor() = default;

  virtual int num_members() const = 0;
  virtual int vocab_size() const = 0;
  virtual int context_length() const = 0;  // most tokens a sequence can hold

  // A new empty sequence. Close frees its memory; ids are never reused.
  virtual SequenceId Open() = 0;
  virtual void Close(SequenceId sequence) = 0;

  // A new sequence may begin with what another holds, in the same memory and for nothing: with a
  // multiple of this many of its tokens. 0: this predictor shares nothing.
  virtual int prefix_granule() const { return 0; }
  // The new sequence, as if the first `tokens` of `other` had been appended to it. `other` stays as
  // it is, and may be closed first. Requires: a positive multiple of prefix_granule() that `other`
  // holds.
  virtual SequenceId OpenPrefix(SequenceId /*other*/, int /*tokens*/) { return Open(); }

  struct Append {
    SequenceId sequence = 0;
    std::span<const base::TokenId> tokens;  // at least one
    // False: more of the prompt is to come, nobody asks for the logits after these tokens.
    bool predicts = true;
  };
  // Appends to each listed sequence (each at most once) and, for the i-th of those that predict,
  // writes the logits of the token after its last one: logits[(i * (M + 1) + row) * V + token], row
  // 0 the public model, row 1 + m member m. A prompt in pieces gives what it gives at once. Errors:
  // kInvalidArgument for token ids out of range, empty appends, a full context, an unknown
  // sequence; then nothing is appended.
  virtual base::Status Step(std::span<const Append> appends, std::span<float> logits) = 0;

  // Scores a whole document at once: for each position t in [first, tokens.size()) calls
  // sink(t, logits) with logits [M + 1, V] of the pmf of tokens[t] given tokens[0 .. t). first
  // >= 1. Requires tokens.size() <= context_length() + 1. Stops at the sink's first error and
  // returns it.
  using PositionSink =
      std::function<base::Status(std::size_t position, std::span<const float> logits)>;
  virtual base::Status Score(std::span<const base::TokenId> tokens, std::size_t first,
                             const PositionSink& sink) = 0;

  // Between two Steps: whether the next one can be expected to end well. Mends what kept the last
  // one from it, if that can be mended. Errors: Step's.
  virtual base::Status Recover() { return base::OkStatus(); }

  // Its threads, if it has any, for others between its own calls: body(i), which does not throw,
  // once for every i in [0, count). Returns when all are done.
  virtual void ForEach(int count, const std::function<void(int)>& body) {
    base::kInTurn(count, body);
  }
};

}  // namespace submix::ensemble
