// How fast members are trained on this machine: a calibration on random tokens. Torch-free.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/train/fine_tuning/fine_tune.h"

namespace submix::train {

// Blocks of random tokens, options.block_tokens each.
std::vector<std::vector<base::TokenId>> RandomBlocks(std::size_t count, int block_tokens,
                                                     int vocab_size, std::mt19937_64& generator);

// Positions a second, those of all members together, over `updates` updates of
// options.members_at_a_time members from the public model, or over fewer that took `seconds`; two
// more come before, for warming up. `directory` is worked in, and left to the caller. Requires:
// updates >= 1. Errors: those of FineTuneMembers; options.should_stop is not asked.
base::StatusOr<double> PositionsASecond(const std::string& public_directory,
                                        const FineTuneOptions& options, int updates, double seconds,
                                        const std::string& directory);

}  // namespace submix::train
