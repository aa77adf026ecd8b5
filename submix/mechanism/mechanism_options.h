// What every mechanism checks before it works. For the mechanisms of this room.
#pragma once

#include <cstddef>

#include "submix/base/status.h"
#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

// Errors: kInvalidArgument, naming the option and its range: num_parts in [1, kMaxParts], a target
// leakage that is positive and below 2^13 nats, an order of at least 1.
base::Status CheckMechanismOptions(const MechanismOptions& options);

// Errors: kInvalidArgument unless the arrays have the sizes that the counts say, for `num_parts`
// parts of one or two halves and as many remaining budgets.
base::Status CheckPredictions(const PartPredictions& predictions, int num_parts,
                              std::size_t num_remaining);

}  // namespace submix::mechanism
