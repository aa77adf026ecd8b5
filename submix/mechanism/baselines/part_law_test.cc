#include "submix/mechanism/baselines/part_law.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/quantise.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace part_law_test {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(PartLawTest, IntegersHaveThePublicSumAndFollowThePmf) {
  const auto random = base::MakeSeededRandomSource(1);
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t support_size = 1 + random->NextBelow(3000);
    const Pmf first = RandomPmf(*random, support_size, 4);
    const Pmf second = RandomPmf(*random, support_size, 1);
    const SimulatedPredictions predictions(RandomPmf(*random, support_size, 2), {first, second}, 2);
    const std::int64_t total = static_cast<std::int64_t>(random->NextUint64() >> 14);
    const std::size_t rest = random->NextBelow(support_size);
    std::vector<std::uint64_t> weights(support_size, 7);
    PartPmf(predictions.view(), 0).AddTo(weights, total, rest);
    for (std::uint64_t& weight : weights) weight -= 7;
    EXPECT_EQ(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}),
              static_cast<std::uint64_t>(total));
    for (std::size_t x = 0; x < support_size; ++x) {
      if (x == rest) continue;
      const double expected = static_cast<double>(total) * (first[x] + second[x]) / 2;
      EXPECT_LE(static_cast<double>(weights[x]), expected);
      EXPECT_GE(static_cast<double>(weights[x]),
                expected * (1 - static_cast<double>(support_size + 8) * 0x1p-50) - 1);
    }
  }
}

TEST(PartLawTest, PointMassesKeepEverything) {
  const SimulatedPredictions predictions({.5, .5}, {{0, 1}});
  std::vector<std::uint64_t> weights(2);
  PartPmf(predictions.view(), 0).AddTo(weights, std::int64_t{1} << 50, 1);
  EXPECT_EQ(weights, (std::vector<std::uint64_t>{0, std::uint64_t{1} << 50}));
}

TEST(PartLawTest, AHalfThatIsNoPmfMakesItsPartThePublicModel) {
  const Pmf public_pmf{.5, .3, .2};
  const Pmf good{.1, .1, .8};
  for (const Pmf& bad : {Pmf{kNan, .5, .5}, Pmf{-.5, 1, .5}, Pmf{.5, .5, .5}, Pmf{0, 0, 0},
                         Pmf{std::numeric_limits<double>::infinity(), 0, 0}}) {
    const SimulatedPredictions predictions(public_pmf, {good, bad}, 2);
    const PartPmf part(predictions.view(), 0);
    EXPECT_EQ(part.TopToken(), 0u);
    std::vector<std::uint64_t> actual(3);
    part.AddTo(actual, 1'000'000, 0);
    std::vector<std::uint64_t> expected(3);
    PartPmf(predictions.view()).AddTo(expected, 1'000'000, 0);
    EXPECT_EQ(actual, expected);
  }
}

TEST(PartLawTest, TheTopTokenIsTheFirstOfTheMean) {
  const SimulatedPredictions predictions({.5, .3, .2}, {{.4, .35, .25}, {0, .45, .55}}, 2);
  EXPECT_EQ(PartPmf(predictions.view(), 0).TopToken(), 1u);  // .2, .4, .4
  EXPECT_EQ(PartPmf(predictions.view()).TopToken(), 0u);
}

TEST(PartLawTest, ThePublicModelMustBeAPmf) {
  SUBMIX_EXPECT_OK(CheckPublicPmf(Pmf{.5, .5}));
  EXPECT_THAT(CheckPublicPmf(Pmf{.5, .6}),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("public")));
}

}  // namespace part_law_test
}  // namespace submix::mechanism
