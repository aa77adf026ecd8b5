#include "submix/train/sampled_gaussian/poisson_sampling.h"

#include <cmath>
#include <cstdint>

#include "submix/base/check.h"

namespace submix::train {

std::vector<std::size_t> SamplePoisson(std::size_t count, double probability,
                                       base::RandomSource& random) {
  SUBMIX_CHECK(probability >= 0 && probability <= 1, "not a probability");
  constexpr std::uint64_t kDenominator = std::uint64_t{1} << 53;
  const auto numerator = static_cast<std::uint64_t>(std::floor(probability * 0x1p53));
  std::vector<std::size_t> sample;
  for (std::size_t i = 0; i < count; ++i) {
    if (random.NextBernoulli(numerator, kDenominator)) sample.push_back(i);
  }
  return sample;
}

std::vector<std::size_t> SampleFixedSize(std::size_t count, std::size_t size,
                                         base::RandomSource& random) {
  SUBMIX_CHECK(size <= count, "more users than there are");
  std::vector<std::size_t> sample;
  // Of those that are left, each is as likely as the others to be among the missing ones.
  for (std::size_t i = 0; sample.size() < size; ++i) {
    if (random.NextBernoulli(size - sample.size(), count - i)) sample.push_back(i);
  }
  return sample;
}

}  // namespace submix::train
