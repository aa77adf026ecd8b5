#include "submix/mechanism/research/pair_weight.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/mechanism/quantise.h"
#include "submix/mechanism/submix_charge.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace pair_weight_test {

using divergence::RenyiOrder;

// The excess of equation 2 at a weight, token by token.
double ReferenceExcess(const MemberPair& pair, double weight, RenyiOrder order) {
  const double total = static_cast<double>(kTotalWeight);
  const double spread = total - static_cast<double>(pair.public_pmf.size());
  Pmf den(pair.public_pmf.size());
  Pmf shift(pair.public_pmf.size());
  for (std::size_t x = 0; x < den.size(); ++x) {
    den[x] =
        (1 - weight) * (1 + spread * pair.public_pmf[x]) + weight * (1 + spread * pair.second[x]);
    shift[x] = weight * spread * (pair.first[x] - pair.second[x]);
  }
  return ExactExcess(den, shift, 0, total, order).forward;
}

double ReferenceWeight(const MemberPair& pair, double target, RenyiOrder order) {
  if (ReferenceExcess(pair, 1, order) <= target) return 1;
  double low = 0;
  double high = 1;
  while (high - low > 1e-12 * high) {
    const double middle = (low + high) / 2;
    (ReferenceExcess(pair, middle, order) <= target ? low : high) = middle;
  }
  return low;
}

// What is missing to the largest weights, as a share of them.
void ExpectSmall(std::vector<double> shortfalls) {
  std::sort(shortfalls.begin(), shortfalls.end());
  EXPECT_LT(shortfalls[shortfalls.size() / 2], 1e-6);
  EXPECT_LT(shortfalls.back(), 1e-3);
}

class LargestPairWeightTest : public testing::TestWithParam<double> {};

TEST_P(LargestPairWeightTest, IsFeasibleAndNearlyTheLargest) {
  const RenyiOrder order = *RenyiOrder::Create(GetParam());
  const ShiftExcess kernel(order);
  const auto random = base::MakeSeededRandomSource(1);
  std::vector<double> shortfalls;
  for (int i = 0; i < 400; ++i) {
    const std::size_t support_size = 2 + random->NextBelow(40);
    const auto any_pmf = [&] {
      return RandomPmf(*random, support_size, 1 + 20 * NextUnit(*random));
    };
    const Pmf public_pmf = any_pmf();
    Pmf first = any_pmf();
    Pmf second = any_pmf();
    switch (random->NextBelow(3)) {
      case 0:  // two halves that nearly agree
        second = MixPmfs(first, second, std::pow(10, -4 * NextUnit(*random)));
        break;
      case 1:  // … near the public model
        first = MixPmfs(public_pmf, first, std::pow(10, -4 * NextUnit(*random)));
        second = MixPmfs(public_pmf, second, std::pow(10, -4 * NextUnit(*random)));
        break;
      default:
        break;
    }
    const MemberPair pair{public_pmf, first, second};
    const double target = std::pow(10, -5 * NextUnit(*random));
    const double weight = LargestPairWeight(pair, kernel, target);
    ASSERT_LE(ReferenceExcess(pair, weight, order), target * (1 + 1e-9)) << i;
    const double best = ReferenceWeight(pair, target, order);
    ASSERT_LE(weight, best * (1 + 1e-9)) << i;
    shortfalls.push_back(1 - weight / best);
  }
  ExpectSmall(std::move(shortfalls));
}

INSTANTIATE_TEST_SUITE_P(Orders, LargestPairWeightTest, testing::Values(1.0, 1.5, 2.0, 3.0, 18.0));

// Of the ball: both directions between the mixture and the public law.
class LargestBallWeightTest : public testing::TestWithParam<double> {};

TEST_P(LargestBallWeightTest, IsFeasibleAndHardlySmallerThanTheBest) {
  const RenyiOrder order = *RenyiOrder::Create(GetParam());
  const ShiftExcess kernel(order);
  const auto random = base::MakeSeededRandomSource(2);
  std::vector<double> shortfalls;
  for (int i = 0; i < 400; ++i) {
    const std::size_t support_size = 2 + random->NextBelow(40);
    const Pmf public_pmf = RandomPmf(*random, support_size, 1 + 20 * NextUnit(*random));
    const Pmf part =
        MixPmfs(public_pmf, RandomPmf(*random, support_size, 1 + 20 * NextUnit(*random)),
                std::pow(10, -4 * NextUnit(*random)));
    const MemberPair outward{public_pmf, part, public_pmf};
    const MemberPair inward{public_pmf, public_pmf, part};
    const double target = std::pow(10, -5 * NextUnit(*random));
    const double weight = LargestBallWeight(public_pmf, part, kernel, target);
    ASSERT_LE(ReferenceExcess(outward, weight, order), target * (1 + 1e-9)) << i;
    ASSERT_LE(ReferenceExcess(inward, weight, order), target * (1 + 1e-9)) << i;
    const double best =
        std::min(ReferenceWeight(outward, target, order), ReferenceWeight(inward, target, order));
    ASSERT_LE(weight, best * (1 + 1e-9)) << i;
    shortfalls.push_back(1 - weight / best);
  }
  ExpectSmall(std::move(shortfalls));
}

INSTANTIATE_TEST_SUITE_P(Orders, LargestBallWeightTest, testing::Values(1.0, 1.5, 2.0, 3.0, 18.0));

TEST(LargestPairWeightTest, IsOneWhereTheHalvesAgree) {
  const Pmf public_pmf{.5, .3, .2};
  const Pmf same{0, .1, .9};
  for (const double order : {1.0, 2.0, 8.0}) {
    const ShiftExcess kernel(*RenyiOrder::Create(order));
    EXPECT_EQ(LargestPairWeight({public_pmf, same, same}, kernel, 1e-9), 1) << order;
    EXPECT_EQ(LargestPairWeight({public_pmf, {same}, {Pmf{0, .1001, .8999}}}, kernel, .1), 1);
  }
}

TEST(LargestPairWeightTest, IsZeroWithoutATarget) {
  const Pmf public_pmf{.5, .5};
  const Pmf first{.4, .6};
  for (const double order : {1.0, 2.0, 8.0}) {
    const ShiftExcess kernel(*RenyiOrder::Create(order));
    for (const double target : {0.0, -1.0, std::nan("")}) {
      EXPECT_EQ(LargestPairWeight({public_pmf, first, public_pmf}, kernel, target), 0);
    }
  }
}

TEST(LargestPairWeightTest, StaysFeasibleOnDisjointHalves) {
  const Pmf public_pmf{.5, .5 - 1e-12, 1e-12, 0};
  for (const double value : {1.0, 2.0, 8.0}) {
    const RenyiOrder order = *RenyiOrder::Create(value);
    const Pmf first{1, 0, 0, 0};
    for (const Pmf& second : {Pmf{0, 1, 0, 0}, Pmf{0, 0, 1, 0}, Pmf{0, 0, 0, 1}}) {
      const MemberPair pair{public_pmf, first, second};
      const double weight = LargestPairWeight(pair, ShiftExcess(order), .01);
      EXPECT_GT(weight, 0);
      EXPECT_LE(ReferenceExcess(pair, weight, order), .01 * (1 + 1e-9));
    }
  }
}

}  // namespace pair_weight_test
}  // namespace submix::mechanism
