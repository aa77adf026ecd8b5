// Streams of draws for attacks and audits: the same seed gives the same numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "submix/base/random.h"

namespace submix::eval {

// One stream for every seed, purpose and number.
std::unique_ptr<base::RandomSource> RepeatableDraws(std::uint64_t seed, std::string_view purpose,
                                                    std::uint64_t number = 0);

// Uniform on (0, 1).
double DrawUnit(base::RandomSource& random);

// An index with these probabilities. Requires: not empty, a sum near 1.
std::size_t DrawIndex(std::span<const double> pmf, base::RandomSource& random);

}  // namespace submix::eval
