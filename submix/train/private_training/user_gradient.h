// The gradient of one user's mean loss, over however many blocks the user has. One user = one
// sample: what DP-SGD clips. Each user is differentiated alone, so that no user's numbers enter
// another's gradient, not even by rounding or by a value that is not finite, and a thread never
// holds more than one user's gradient.
// Internal: includes torch.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "submix/corpus/counted_tokens.h"
#include "submix/train/models/member_models.h"

namespace submix::train {

// One thread at a time.
class UserGradient {
 public:
  // `models` holds one member. `rows_at_a_time` blocks go through the model together: a matter of
  // memory and speed alone. Requires: rows_at_a_time >= 1; `models` outlives it.
  UserGradient(MemberModels& models, int rows_at_a_time);

  // d/dparameters of the mean of -log p(target) over all of the user's targets, [N], summed over
  // every way a parameter enters: of the tied embedding, as input and as output. Valid until the
  // next call. `first` is where what frozen layers say of the first block is kept; the others
  // follow. Requires: at least one block; each predicts a token or more, and the model can read it.
  std::span<const float> Compute(std::span<const std::vector<corpus::StreamToken>> blocks,
                                 std::optional<StatePlace> first = {});

 private:
  MemberModels& models_;
  const std::size_t rows_at_a_time_;
  std::vector<float> total_;  // of users that take several passes
};

}  // namespace submix::train
