#include "submix/mechanism/mixing_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/submix_charge.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace {

using divergence::RenyiOrder;

// The excess at a scale by the reference, token by token.
double ReferenceExcess(const PartDirection& direction, double scale, RenyiOrder order) {
  const PublicWeights& base = direction.base();
  Pmf shift(PadToLanes(base.size()));
  direction.Fill(0, base.size(), scale, shift.data());
  return ExactExcess(std::span(base.least_rest(), base.size()), std::span(shift).first(base.size()),
                     0, base.total(), order)
      .larger();
}

double ReferenceScale(const PartDirection& direction, double target, RenyiOrder order) {
  if (ReferenceExcess(direction, 1, order) <= target) return 1;
  double low = 0;
  double high = 1;
  for (int i = 0; i < 120; ++i) {
    const double middle = (low + high) / 2;
    (ReferenceExcess(direction, middle, order) <= target ? low : high) = middle;
  }
  return low;
}

TEST(LargestScaleTest, IsFeasibleAndNearlyTheLargest) {
  const auto random = base::MakeSeededRandomSource(1);
  double worst_shortfall = 0;
  for (int i = 0; i < 150; ++i) {
    const std::size_t support_size = 2 + random->NextBelow(40);
    const Pmf public_pmf = RandomPmf(*random, support_size, 1 + 10 * NextUnit(*random));
    const Pmf pmf = RandomPmf(*random, support_size, 1 + 10 * NextUnit(*random));
    const int num_parts = 1 << random->NextBelow(7);
    SUBMIX_ASSERT_OK_AND_ASSIGN(
        const auto base, PublicWeights::Create(public_pmf, num_parts, .2 + .8 * NextUnit(*random)));
    const PartDirection direction(base, public_pmf, pmf, pmf);
    for (const double value : {1.0, 1.5, 2.0, 4.0, 16.0, std::numeric_limits<double>::infinity()}) {
      const RenyiOrder order = *RenyiOrder::Create(value);
      const double target = std::pow(10, -6 * NextUnit(*random)) / num_parts;
      const double scale = LargestScale(direction, ShiftExcess(order), target);
      ASSERT_LE(ReferenceExcess(direction, scale, order), target * (1 + 1e-11))
          << "case " << i << ", order " << value;
      const double best = ReferenceScale(direction, target, order);
      ASSERT_LE(scale, best * (1 + 1e-10)) << "case " << i << ", order " << value;
      worst_shortfall = std::max(worst_shortfall, 1 - scale / best);
    }
  }
  EXPECT_LT(worst_shortfall, .01);
  RecordProperty("worst_shortfall", std::to_string(worst_shortfall));
}

TEST(LargestScaleTest, IsOneIfEverythingIsFree) {
  const Pmf pmf{.5, .3, .2};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto base, PublicWeights::Create(pmf, 8, .8));
  EXPECT_EQ(LargestScale(PartDirection(base, pmf, pmf, pmf), ShiftExcess(RenyiOrder::Two()), .1),
            1);
}

TEST(LargestScaleTest, IsZeroWithoutATargetOrADirection) {
  const Pmf public_pmf{.5, .3, .2};
  const Pmf pmf{.8, .1, .1};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto base, PublicWeights::Create(public_pmf, 8, .8));
  const PartDirection direction(base, public_pmf, pmf, pmf);
  const PartDirection null_direction(base, public_pmf, Pmf{nan, 1, 0}, pmf);
  for (const RenyiOrder order : {RenyiOrder::Two(), RenyiOrder::One(), RenyiOrder::Infinity()}) {
    const ShiftExcess kernel(order);
    EXPECT_EQ(LargestScale(direction, kernel, 0), 0);
    EXPECT_EQ(LargestScale(direction, kernel, -1), 0);
    EXPECT_EQ(LargestScale(direction, kernel, nan), 0);
    EXPECT_EQ(LargestScale(null_direction, kernel, .1), 0);
    EXPECT_GT(LargestScale(direction, kernel, .001), 0);
  }
}

}  // namespace
}  // namespace submix::mechanism
