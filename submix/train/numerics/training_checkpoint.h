// The state of one training in one safetensors file, written atomically: parameters, Adam's moments
// and the number of updates done. It goes on with the same bits as if it had never stopped.
#pragma once

#include <span>
#include <string>

#include "submix/base/status.h"
#include "submix/train/numerics/optimiser.h"

namespace submix::train {

// `identity` names the training (options, seed, data): a checkpoint of another is refused.
base::Status SaveTrainingCheckpoint(const std::string& path, const std::string& identity,
                                    std::span<const float> parameters, const AdamWState& state);

// True if there was a checkpoint and it is loaded. Errors: kFailedPrecondition for one of another
// training; kDataLoss for a damaged one. Requires: state of parameters.size() numbers.
base::StatusOr<bool> LoadTrainingCheckpoint(const std::string& path, const std::string& identity,
                                            std::span<float> parameters, AdamWState& state);

}  // namespace submix::train
