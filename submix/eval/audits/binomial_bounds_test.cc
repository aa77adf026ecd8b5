#include <cmath>

#include <gtest/gtest.h>

#include "submix/eval/audits/roc_curve.h"

namespace submix::eval {
namespace binomial_bounds_test {

// Quantiles of the beta distribution, from SciPy 1.10 (betaincinv).
TEST(BinomialBoundsTest, AreClopperAndPearsons) {
  EXPECT_NEAR(LowerBound({3, 10}, 0.05), 0.08726443391415031, 1e-14);
  EXPECT_NEAR(UpperBound({3, 10}, 0.05), 0.6066242161054134, 1e-14);
  EXPECT_NEAR(LowerBound({250, 1000}, 0.05), 0.22754347967160546, 1e-14);
  EXPECT_NEAR(UpperBound({250, 1000}, 0.05), 0.27355363132372956, 1e-14);
}

TEST(BinomialBoundsTest, NothingOneAndEverything) {
  // 1 - .95^(1/n): at least one success.
  EXPECT_NEAR(LowerBound({1, 100000}, 0.05), -std::expm1(std::log1p(-0.05) / 100000), 1e-19);
  EXPECT_EQ(LowerBound({0, 20}, 0.05), 0);
  EXPECT_NEAR(UpperBound({0, 20}, 0.05), 0.13910834066826516, 1e-14);
  EXPECT_NEAR(LowerBound({20, 20}, 0.05), 0.8608916593317348, 1e-14);
  EXPECT_EQ(UpperBound({20, 20}, 0.05), 1);
}

// By definition: at the bound, what was seen or more has exactly the error's probability.
TEST(BinomialBoundsTest, TheTailAtTheBoundIsTheError) {
  for (const std::int64_t successes : {1, 7, 40, 99}) {
    EXPECT_NEAR(BinomialUpperTail(successes, 100, LowerBound({successes, 100}, 0.01)), 0.01, 1e-12);
    EXPECT_NEAR(BinomialUpperTail(successes + 1, 100, UpperBound({successes, 100}, 0.01)), 0.99,
                1e-12);
  }
}

TEST(BinomialBoundsTest, TailsFromSciPy) {
  EXPECT_NEAR(BinomialUpperTail(60, 100, 0.5), 0.02844396682049044, 1e-14);
  EXPECT_NEAR(BinomialUpperTail(900, 1000, 0.85), 2.03896612747274e-06, 1e-17);
  EXPECT_EQ(BinomialUpperTail(0, 10, 0.3), 1);
  EXPECT_EQ(BinomialUpperTail(11, 10, 0.3), 0);
  EXPECT_NEAR(BinomialUpperTail(2, 2, 0.3), 0.09, 1e-15);
}

}  // namespace binomial_bounds_test
}  // namespace submix::eval
