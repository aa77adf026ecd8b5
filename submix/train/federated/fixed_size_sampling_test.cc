#include "submix/train/federated/fixed_size_sampling.h"

#include <cstdint>
#include <map>

#include <gtest/gtest.h>

#include "submix/base/testing/goodness_of_fit.h"
#include "submix/base/testing/seeded_random.h"

namespace submix::train {
namespace {

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

}  // namespace
}  // namespace submix::train
