#include "submix/train/sampled_gaussian/poisson_sampling.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include <gtest/gtest.h>

#include "submix/base/testing/goodness_of_fit.h"
#include "submix/base/testing/seeded_random.h"

namespace submix::train {
namespace poisson_sampling_test {

double Binomial(int n, int k, double p) {
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                  k * std::log(p) + (n - k) * std::log1p(-p));
}

TEST(PoissonSamplingTest, EveryUnitIsInWithTheAccountedProbabilityIndependently) {
  const auto random = base::MakeStatisticalRandomSource(1);
  constexpr int kUnits = 10;
  constexpr int kSteps = 40000;
  constexpr double kProbability = 0.3;
  std::vector<std::int64_t> of_unit(kUnits);
  std::vector<std::int64_t> of_size(kUnits + 1);
  std::vector<std::int64_t> of_pair(4);       // of units 2 and 7
  std::vector<std::int64_t> of_two_steps(4);  // of unit 5
  std::size_t last = 0;
  for (int step = 0; step < kSteps; ++step) {
    const auto sample = SamplePoisson(kUnits, kProbability, *random);
    ASSERT_TRUE(std::ranges::is_sorted(sample));
    const auto has = [&](std::size_t unit) {
      return static_cast<std::size_t>(std::ranges::binary_search(sample, unit));
    };
    for (const std::size_t unit : sample) ++of_unit[unit];
    ++of_size[sample.size()];
    ++of_pair[2 * has(2) + has(7)];
    if (step % 2 == 1) ++of_two_steps[2 * last + has(5)];
    last = has(5);
  }
  for (const std::int64_t count : of_unit) {
    const std::vector<std::int64_t> counts = {count, kSteps - count};
    const double expected = kSteps * kProbability;
    EXPECT_LT(
        std::abs(static_cast<double>(count) - expected) / std::sqrt(expected * (1 - kProbability)),
        5);
  }
  // Sizes of 8 and more together, so that every class is expected ten times.
  std::vector<std::int64_t> sizes(of_size.begin(), of_size.begin() + 9);
  sizes[8] += of_size[9] + of_size[10];
  std::vector<double> law(9);
  for (int size = 0; size <= kUnits; ++size) {
    law[static_cast<std::size_t>(std::min(size, 8))] += Binomial(kUnits, size, kProbability);
  }
  EXPECT_LT(base::ChiSquareScore(sizes, law), 5);
  const std::vector<double> two = {0.49, 0.21, 0.21, 0.09};
  EXPECT_LT(base::ChiSquareScore(of_pair, two), 5);
  EXPECT_LT(base::ChiSquareScore(of_two_steps, two), 5);
}

TEST(PoissonSamplingTest, TheEndsAreCertain) {
  const auto random = base::MakeSeededRandomSource(1);
  EXPECT_TRUE(SamplePoisson(1000, 0, *random).empty());
  EXPECT_TRUE(SamplePoisson(0, 0.5, *random).empty());
  EXPECT_EQ(SamplePoisson(1000, 1, *random).size(), 1000U);
  // Less than the least probability there is counts as none, never as more than was accounted.
  EXPECT_TRUE(SamplePoisson(1000, 0x1p-54, *random).empty());
}

TEST(FixedSizeSamplingTest, AllSetsAreEquallyLikely) {
  const auto random = base::MakeStatisticalRandomSource(1);
  std::map<std::vector<std::size_t>, std::int64_t> counts;
  constexpr int kRounds = 30000;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<std::size_t> sample = SampleFixedSize(6, 3, *random);
    ASSERT_EQ(sample.size(), 3u);
    ++counts[sample];
  }
  ASSERT_EQ(counts.size(), 20u);  // 6 over 3
  std::vector<std::int64_t> observed;
  for (const auto& [sample, count] : counts) observed.push_back(count);
  EXPECT_LT(base::ChiSquareScore(observed, std::vector<double>(20, 0.05)), 5);
}

TEST(FixedSizeSamplingTest, TakesNobodyOrEverybody) {
  const auto random = base::MakeSeededRandomSource(1);
  EXPECT_TRUE(SampleFixedSize(3, 0, *random).empty());
  EXPECT_EQ(SampleFixedSize(3, 3, *random), (std::vector<std::size_t>{0, 1, 2}));
}

}  // namespace poisson_sampling_test
}  // namespace submix::train
