#include "submix/divergence/bounded_range.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "submix/divergence/renyi_divergence.h"

namespace submix::divergence {
namespace bounded_range_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double At(double order, double range) {
  return BoundedRangeDivergence(range, RenyiOrder::Create(order).value());
}

TEST(BoundedRangeTest, AgreesWithHighPrecision) {
  std::ifstream table(SUBMIX_TESTDATA_DIR "/divergence/bounded_range.txt");
  ASSERT_TRUE(table.is_open());
  int compared = 0;
  std::string order;
  for (double range = 0, expected = 0; table >> order >> range >> expected; ++compared) {
    const double actual = BoundedRangeDivergence(range, RenyiOrder::Parse(order).value());
    EXPECT_NEAR(actual / expected, 1, 1e-12) << order << " " << range;
  }
  EXPECT_EQ(compared, 130);
}

// Computed with 30 digits.
TEST(BoundedRangeTest, AgreesWithTheProofsPage) {
  EXPECT_NEAR(At(1.5, 0.0875), 0.0014352798144419, 1e-15);
  EXPECT_NEAR(At(2, 0.01), 2.4999895834028e-5, 1e-18);
  EXPECT_NEAR(At(2, 0.0875), 0.0019134522056068, 1e-15);
  EXPECT_NEAR(At(2, 0.5), 0.061859607240323, 1e-14);
  EXPECT_NEAR(At(2, 2), 0.86756166096605, 1e-13);
  EXPECT_NEAR(At(8, 0.5), 0.21219232552812, 1e-13);
  EXPECT_NEAR(At(18, 0.0875), 0.016691993769632, 1e-14);
  EXPECT_NEAR(At(18, 0.5), 0.32776030217958, 1e-13);
  EXPECT_NEAR(At(1, 0.5), 0.031142092261156, 1e-14);
  EXPECT_EQ(At(kInfinity, 0.5), 0.5);
}

TEST(BoundedRangeTest, LiesBelowTheGaussianBoundAndBelowTheRange) {
  for (const double order : {1.0, 1.5, 2.0, 18.0, 512.0, 1e6}) {
    for (double range = 1e-8; range < 1e4; range *= 3) {
      const double divergence = At(order, range);
      EXPECT_GT(divergence, 0);
      EXPECT_LE(divergence, range);
      EXPECT_LE(divergence, order * range * range / 8 * (1 + 1e-12));
    }
  }
}

TEST(BoundedRangeTest, BoundsEveryPairWithinTheRange) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int trial = 0; trial < 300; ++trial) {
    const double range = 3 * uniform(random);
    std::vector<double> p, q;
    double sum_p = 0, sum_q = 0;
    for (int x = 0; x < 5; ++x) {
      q.push_back(uniform(random));
      p.push_back(q.back() * std::exp(range * (x == 0 ? 1 : x == 1 ? 0 : uniform(random))));
      sum_p += p.back();
      sum_q += q.back();
    }
    for (double& probability : p) probability /= sum_p;
    for (double& probability : q) probability /= sum_q;
    for (const char* text : {"0.5", "1", "1.5", "2", "18", "inf"}) {
      const RenyiOrder order = RenyiOrder::Parse(text).value();
      EXPECT_LE(SymmetricRenyiDivergence(p, q, order),
                BoundedRangeDivergence(range, order) * (1 + 1e-12));
    }
  }
}

TEST(BoundedRangeTest, KnowsItsEdges) {
  for (const double order : {0.5, 1.0, 1.5, 2.0, kInfinity}) {
    EXPECT_EQ(At(order, 0), 0);
    EXPECT_EQ(At(order, kInfinity), kInfinity);
    EXPECT_EQ(At(order, std::nan("")), kInfinity);
    EXPECT_EQ(At(order, -1), kInfinity);
  }
  EXPECT_EQ(At(0.5, 0.7), At(1, 0.7));
  EXPECT_NEAR(At(1e300, 2), 2, 1e-12);
}

}  // namespace bounded_range_test
}  // namespace submix::divergence
