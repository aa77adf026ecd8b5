// The batch of a private step: each unit by a coin of its own, or, in experiments that promise
// nothing, a fixed number of units. Torch-free.
#pragma once

#include <cstddef>
#include <vector>

#include "submix/base/random.h"

namespace submix::train {

// Indices below `count` in rising order, each in it with `probability` rounded down to a multiple
// of 2^-53 (never more than what is accounted), independently. Requires: 0 <= probability <= 1.
std::vector<std::size_t> SamplePoisson(std::size_t count, double probability,
                                       base::RandomSource& random);

// `size` indices below `count` in rising order, all such sets equally likely. Only the price of
// Poisson's sampling is known: for experiments. Requires: size <= count.
std::vector<std::size_t> SampleFixedSize(std::size_t count, std::size_t size,
                                         base::RandomSource& random);

}  // namespace submix::train
