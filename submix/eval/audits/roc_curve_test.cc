#include "submix/eval/audits/roc_curve.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace submix::eval {
namespace roc_curve_test {

TEST(RocCurveTest, CountsEveryPairOnceAndTiesHalf) {
  const std::vector<double> with = {3, 2, 2, 0};
  const std::vector<double> without = {2, 1, 0, -1, -1};
  const RocCurve curve(with, without);
  // Pairs won: 5 + 4.5 + 4.5 + 2.5 of 20.
  EXPECT_NEAR(curve.area(), 16.5 / 20, 1e-15);
  EXPECT_NEAR(curve.advantage(), 0.75 - 0.2, 1e-15);
  ASSERT_EQ(curve.points().size(), 6u);
  EXPECT_EQ(curve.points().back().false_positives, 1);
  EXPECT_EQ(curve.points().back().true_positives, 1);
}

TEST(RocCurveTest, BetweenPointsACoinIsTossed) {
  const std::vector<double> with = {3, 2, 2, 0};
  const std::vector<double> without = {2, 1, 0, -1, -1};
  const RocCurve curve(with, without);
  EXPECT_NEAR(curve.TruePositivesAt(0), 0.25, 1e-15);
  EXPECT_NEAR(curve.TruePositivesAt(0.1), 0.5, 1e-15);
  EXPECT_NEAR(curve.TruePositivesAt(0.2), 0.75, 1e-15);
  EXPECT_NEAR(curve.TruePositivesAt(1), 1, 1e-15);
}

// 1,000 scores of 0 or 1 in each world: the upper bound of 10 of 1,000 is .0183, of none .0037.
TEST(RocCurveTest, WhatIsSureHasRoomForChance) {
  std::vector<double> with(1000, 0.0);
  std::vector<double> without(1000, 0.0);
  std::fill_n(with.begin(), 500, 1.0);
  std::fill_n(without.begin(), 10, 1.0);
  const RocCurve curve(with, without);
  EXPECT_NEAR(curve.TruePositivesAt(0.01), 0.5, 1e-12);
  EXPECT_EQ(curve.SureTruePositivesAt(0.018, 0.05), 0);
  EXPECT_NEAR(curve.SureTruePositivesAt(0.019, 0.05), LowerBound({500, 1000}, 0.025), 1e-12);
  EXPECT_NEAR(curve.SureTruePositivesAt(1, 0.05), LowerBound({1000, 1000}, 0.025), 1e-12);
}

TEST(RocCurveTest, EqualScoresTellNothingAndInfiniteOnesEverything) {
  const std::vector<double> zeros(10, 0.0);
  EXPECT_EQ(RocCurve(zeros, zeros).area(), 0.5);
  EXPECT_EQ(RocCurve(zeros, zeros).advantage(), 0);
  EXPECT_NEAR(RocCurve(zeros, zeros).TruePositivesAt(0.01), 0.01, 1e-15);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> never(10, -kInfinity);
  const std::vector<double> always(10, kInfinity);
  EXPECT_EQ(RocCurve(always, never).area(), 1);
  EXPECT_EQ(RocCurve(always, never).TruePositivesAt(0), 1);
}

}  // namespace roc_curve_test
}  // namespace submix::eval
