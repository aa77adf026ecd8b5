// A reproducible RandomSource for tests. Products cannot link it (target submix_base_testing).
#pragma once

#include <cstdint>
#include <memory>

#include "submix/base/random.h"

namespace submix::base {

// The ChaCha20 stream whose key is `seed` followed by zeros.
std::unique_ptr<RandomSource> MakeSeededRandomSource(std::uint64_t seed);

// For statistical tests: the stream of `seed`, or a fresh one of the operating system's entropy if
// the environment variable SUBMIX_UNSEEDED is set (CONTRIBUTING.md says how to repeat them).
std::unique_ptr<RandomSource> MakeStatisticalRandomSource(std::uint64_t seed);

}  // namespace submix::base
