#include "submix/base/testing/seeded_random.h"

#include <array>
#include <cstdlib>
#include <cstring>

#include "submix/base/chacha_random_source.h"

namespace submix::base {

std::unique_ptr<RandomSource> MakeSeededRandomSource(std::uint64_t seed) {
  std::array<std::byte, ChaChaRandomSource::kKeyBytes> key{};
  std::memcpy(key.data(), &seed, sizeof seed);
  return std::make_unique<ChaChaRandomSource>(key);
}

std::unique_ptr<RandomSource> MakeStatisticalRandomSource(std::uint64_t seed) {
  if (std::getenv("SUBMIX_UNSEEDED") != nullptr) return MakeSystemRandomSource();
  return MakeSeededRandomSource(seed);
}

}  // namespace submix::base
