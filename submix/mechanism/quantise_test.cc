#include "submix/mechanism/quantise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace quantise_test {

std::vector<std::uint64_t> Quantised(const Pmf& pmf, std::size_t remainder_token = 0) {
  std::vector<std::uint64_t> weights(pmf.size());
  QuantiseLaw(pmf, remainder_token, weights);
  return weights;
}

std::uint64_t Sum(const std::vector<std::uint64_t>& weights) {
  return std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
}

TEST(QuantiseLawTest, SumsToTheTotalAndLeavesNoTokenOut) {
  const auto random = base::MakeSeededRandomSource(1);
  for (const std::size_t support_size : {1u, 2u, 3u, 511u, 512u, 513u, 50257u}) {
    for (const double sharpness : {0.0, 1.0, 8.0, 300.0}) {
      const Pmf pmf = RandomPmf(*random, support_size, sharpness);
      const auto weights = Quantised(pmf, support_size / 2);
      ASSERT_EQ(Sum(weights), static_cast<std::uint64_t>(kTotalWeight));
      ASSERT_GE(*std::min_element(weights.begin(), weights.end()), 1u);
    }
  }
}

TEST(QuantiseLawTest, IsThePmfToTheResolutionOfTheIntegers) {
  const auto weights = Quantised({.5, .25, .25});
  EXPECT_NEAR(static_cast<double>(weights[0]), 0x1p47, 8);
  EXPECT_NEAR(static_cast<double>(weights[1]), 0x1p46, 8);
}

TEST(IsPmfTest, RefusesWhatIsNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(IsPmf(Pmf{.5, .5}));
  EXPECT_TRUE(IsPmf(Pmf{0, 1}));
  EXPECT_TRUE(IsPmf(Pmf{1}));
  EXPECT_FALSE(IsPmf(Pmf{}));
  EXPECT_FALSE(IsPmf(Pmf{.5, .6}));
  EXPECT_FALSE(IsPmf(Pmf{1.5, -.5}));
  EXPECT_FALSE(IsPmf(Pmf{nan, 1}));
  EXPECT_FALSE(IsPmf(Pmf{infinity, -infinity}));
  Pmf large(1000, 1e-3);
  EXPECT_TRUE(IsPmf(large));
  large[17] = -1e-3;
  large[18] = 3e-3;
  EXPECT_FALSE(IsPmf(large)) << "a negative value in the vectorised part";
  large[17] = nan;
  EXPECT_FALSE(IsPmf(large));
}

TEST(PublicWeightsTest, FloorIsAtLeastOneAndNeverAboveTheWeight) {
  const Pmf public_pmf{.7, .3 - 1e-14, 1e-14, 0};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto base, PublicWeights::Create(public_pmf, 3, .8));
  EXPECT_EQ(base.top_token(), 0u);
  EXPECT_EQ(base.weights()[3], 1u);
  EXPECT_EQ(base.room()[3], 0) << "a weight of one cannot be lowered";
  double spare = 0;
  for (std::size_t x = 0; x < 4; ++x) {
    const double weight = static_cast<double>(base.weights()[x]);
    const double floor = std::max(1.0, std::floor((1 - .8) * weight));
    EXPECT_EQ(base.room()[x], weight - floor);
    EXPECT_EQ(base.least_rest()[x], weight + 2 * floor);
    spare += weight - floor;
  }
  EXPECT_EQ(base.spare(), spare);
}

TEST(PublicWeightsTest, RefusesAPublicModelWithoutAPmf) {
  EXPECT_THAT(PublicWeights::Create(Pmf{.5, .6}, 3, .8),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("public")));
}

PartDirection Checked(const PublicWeights& base, const Pmf& public_pmf, const Pmf& first,
                      const Pmf& second) {
  const PartDirection direction(base, first, second);
  return direction.Checked(base, public_pmf,
                           direction.Measure(base, kMomentsAtATime, kMomentsAtATime));
}

TEST(PartDirectionTest, SumsToJustBelowZeroAndKeepsTheFloor) {
  const auto random = base::MakeSeededRandomSource(2);
  for (const std::size_t support_size : {1u, 2u, 500u}) {
    const Pmf public_pmf = RandomPmf(*random, support_size, 3);
    Pmf pmf = RandomPmf(*random, support_size, 30);
    for (double& p : pmf) p *= 1 + 9e-10;  // still a pmf to IsPmf
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto base, PublicWeights::Create(public_pmf, 4, .9));
    const PartDirection direction = Checked(base, public_pmf, pmf, pmf);
    EXPECT_FALSE(direction.is_null());
    Pmf block(512, 7);
    direction.Fill(0, support_size, 1, block.data());
    const double sum = std::accumulate(block.begin(), block.begin() + support_size, 0.0);
    EXPECT_LE(sum, 1e-3);
    EXPECT_GE(sum, -static_cast<double>(support_size + 8) * 0x1p-3);
    for (std::size_t x = 0; x < support_size; ++x) EXPECT_GE(block[x], -base.room()[x]);
  }
}

TEST(PartDirectionTest, PadsItsBlockWithZeros) {
  const Pmf pmf{.2, .3, .5};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto base, PublicWeights::Create(pmf, 2, .5));
  Pmf block(PadToLanes(3), 7);
  Checked(base, pmf, pmf, pmf).Fill(0, 3, .5, block.data());
  for (std::size_t i = 3; i < block.size(); ++i) EXPECT_EQ(block[i], 0);
  block.assign(PadToLanes(3), 7);
  Checked(base, pmf, pmf, pmf).FillFloors(0, 3, .5, block.data());
  for (std::size_t i = 3; i < block.size(); ++i) EXPECT_EQ(block[i], 0);
}

TEST(PartDirectionTest, RoundsDownToTheSameIntegersEverywhere) {
  const auto random = base::MakeSeededRandomSource(3);
  for (const std::size_t support_size : {1u, 7u, 8u, 9u, 511u, 512u, 513u, 1000u}) {
    const Pmf public_pmf = RandomPmf(*random, support_size, 4);
    const Pmf first = RandomPmf(*random, support_size, 4);
    const Pmf second = RandomPmf(*random, support_size, 4);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto base, PublicWeights::Create(public_pmf, 4, .9));
    const PartDirection direction = Checked(base, public_pmf, first, second);
    constexpr std::uint64_t kStart = std::uint64_t{1} << 60;
    std::vector<std::uint64_t> weights(support_size, kStart);
    direction.AddFloors(0, support_size, .3, weights.data());
    Pmf exact(kBlockTokens);
    Pmf floors(kBlockTokens);
    for (std::size_t begin = 0; begin < support_size; begin += kBlockTokens) {
      const std::size_t count = std::min(kBlockTokens, support_size - begin);
      direction.Fill(begin, count, .3, exact.data());
      const std::int64_t sum = direction.FillFloors(begin, count, .3, floors.data());
      EXPECT_EQ(static_cast<double>(sum),
                std::accumulate(floors.begin(), floors.begin() + count, 0.0));
      for (std::size_t x = 0; x < count; ++x) {
        ASSERT_EQ(floors[x], std::floor(exact[x]));
        ASSERT_EQ(static_cast<double>(static_cast<std::int64_t>(weights[begin + x] - kStart)),
                  floors[x]);
      }
    }
  }
}

TEST(PartDirectionTest, IsNullIfOneHalfIsNoPmf) {
  const Pmf public_pmf{.5, .5};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto base, PublicWeights::Create(public_pmf, 2, .5));
  const double infinity = std::numeric_limits<double>::infinity();
  const Pmf broken{std::numeric_limits<double>::quiet_NaN(), .5};
  // Together they would sum to two.
  const Pmf heavy{.75, .75};
  const Pmf light{.25, .25};
  const auto is_null = [&](const Pmf& first, const Pmf& second) {
    return Checked(base, public_pmf, first, second).is_null();
  };
  EXPECT_FALSE(is_null(public_pmf, {.25, .75}));
  EXPECT_TRUE(is_null(broken, public_pmf));
  EXPECT_TRUE(is_null(public_pmf, broken));
  EXPECT_TRUE(is_null(heavy, light));
  EXPECT_TRUE(is_null({1.5, -.5}, public_pmf));
  EXPECT_TRUE(is_null(public_pmf, {1.5, -.5}));
  EXPECT_TRUE(is_null({infinity, -infinity}, public_pmf));
}

}  // namespace quantise_test
}  // namespace submix::mechanism
