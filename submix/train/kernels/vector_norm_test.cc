#include "submix/train/kernels/vector_norm.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace submix::train {
namespace vector_norm_test {

TEST(VectorNormTest, SumsManyStretches) {
  const std::vector<float> numbers(100'000, 0.1f);
  EXPECT_NEAR(VectorNorm(numbers), std::sqrt(1000.0), 1e-4);
  EXPECT_EQ(VectorNorm({}), 0);
}

TEST(VectorNormTest, SquaresDoNotOverflow) {
  const std::vector<float> numbers = {3e38f, 0.0f};
  EXPECT_NEAR(VectorNorm(numbers) / 3e38, 1, 1e-6);
  EXPECT_TRUE(AreFinite(numbers));
}

TEST(VectorNormTest, WhatIsNoNumberShows) {
  for (const float broken :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    EXPECT_FALSE(AreFinite(std::vector<float>{1.0f, broken}));
  }
}

}  // namespace vector_norm_test
}  // namespace submix::train
