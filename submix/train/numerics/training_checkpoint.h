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

// Changes nothing if there is no file. Errors: kFailedPrecondition for a checkpoint of another
// training; kDataLoss for a damaged one. Requires: state of parameters.size() numbers.
base::Status LoadTrainingCheckpoint(const std::string& path, const std::string& identity,
                                    std::span<float> parameters, AdamWState& state);

}  // namespace submix::train
