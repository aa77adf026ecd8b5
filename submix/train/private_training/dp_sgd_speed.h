// How fast DP-SGD goes on this machine: a calibration on random tokens. Torch-free.
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/train/private_training/dp_sgd.h"

namespace submix::train {

// Positions a second of a step over `users` users of so many full blocks each, after one for
// warming up. Of `options` the batch and the steps are not read. `directory` is worked in, and left
// to the caller. Requires: users and blocks_a_user >= 1. Errors: those of TrainDpSgd.
base::StatusOr<double> DpSgdPositionsASecond(const std::string& public_directory,
                                             const DpSgdOptions& options, int users,
                                             int blocks_a_user, const std::string& directory);

}  // namespace submix::train
