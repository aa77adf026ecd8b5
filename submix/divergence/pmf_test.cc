#include "submix/divergence/pmf.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace submix::divergence {
namespace pmf_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(CompensatedSumTest, KeepsWhatAPlainSumLoses) {
  EXPECT_EQ(Sum(std::vector<double>{1, 1e100, 1, -1e100}), 2);
  EXPECT_NEAR(Sum(std::vector<double>(1'000'000, 0.1)), 100'000, 1e-11);
}

TEST(CompensatedSumTest, LetsInfinityAndNanThrough) {
  EXPECT_EQ(Sum(std::vector<double>{1, kInfinity, 2}), kInfinity);
  EXPECT_TRUE(std::isnan(Sum(std::vector<double>{1, std::nan(""), 2})));
}

}  // namespace pmf_test
}  // namespace submix::divergence
