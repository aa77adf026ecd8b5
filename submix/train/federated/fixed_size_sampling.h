// A round's users in a number that is fixed beforehand: for experiments beside Poisson sampling
// (poisson_sampling.h), whose price is the one that is known. Torch-free.
#pragma once

#include <cstddef>
#include <vector>

#include "submix/base/random.h"

namespace submix::train {

// `size` indices below `count` in rising order, all such sets equally likely. Requires: size <=
// count.
std::vector<std::size_t> SampleFixedSize(std::size_t count, std::size_t size,
                                         base::RandomSource& random);

}  // namespace submix::train
