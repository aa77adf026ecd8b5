// What the models say of one token in two worlds that differ in one unit's text: as trained, and
// with some members' rows replaced by others (the public model's: the part is replaced by it; those
// of members trained without a user: the user is left out).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "submix/base/status.h"
#include "submix/mechanism/mapped_predictions.h"
#include "submix/mechanism/part_predictions.h"

namespace submix::eval {

// Rows of a predictor: 0 the public model, 1 + m member m.
struct RowReplacement {
  std::size_t row = 0;
  std::size_t by = 0;
};

// Part `part`'s members replaced by the public model.
std::vector<RowReplacement> ReplacedByPublic(int part, int halves);

// One thread at a time.
class NeighbouringWorlds {
 public:
  // Requires: replacements name rows that Map will see, and replace members of parts.
  NeighbouringWorlds(int num_parts, int halves, int vocab_size,
                     std::vector<RowReplacement> replacements);

  // logits [at least 1 + num_parts * halves rows, V] as a predictor gives them. Errors:
  // kInternal if the public model's logits are not finite.
  base::Status Map(std::span<const float> logits);

  // Valid until the next Map.
  mechanism::PartPredictions with() const { return with_.view(); }
  mechanism::PartPredictions without() const { return without_.view(); }

 private:
  const std::size_t rows_;  // of the members of parts
  const int halves_;
  const std::size_t vocab_size_;
  const std::vector<RowReplacement> replacements_;
  std::vector<float> replaced_;  // [rows, V]
  mechanism::MappedPredictions with_;
  mechanism::MappedPredictions without_;
};

}  // namespace submix::eval
