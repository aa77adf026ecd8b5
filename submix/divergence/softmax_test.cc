#include "submix/divergence/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/each_instruction_set.h"
#include "submix/divergence/pmf.h"

namespace submix::divergence {
namespace softmax_test {

std::vector<long double> LongDoubleSoftmax(const std::vector<float>& logits, double temperature) {
  std::vector<long double> pmf;
  long double largest = -std::numeric_limits<long double>::infinity();
  for (const float logit : logits) largest = std::max<long double>(largest, logit);
  long double sum = 0;
  for (const float logit : logits) {
    pmf.push_back(std::exp((logit - largest) / temperature));
    sum += pmf.back();
  }
  for (long double& probability : pmf) probability /= sum;
  return pmf;
}

TEST(SoftmaxTest, GivesTheSameBitsWithEveryInstructionSet) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> logit(-300, 20);
  std::vector<float> logits(5003);
  for (float& value : logits) value = logit(random);
  std::vector<double> expected(logits.size());
  ASSERT_TRUE(Softmax(logits, 1.3, expected));
  base::WithEachInstructionSet([&] {
    std::vector<double> pmf(logits.size());
    ASSERT_TRUE(Softmax(logits, 1.3, pmf));
    EXPECT_EQ(pmf, expected);
  });
}

// Sizes around the number of lanes, and a real vocabulary.
class SoftmaxSizeTest : public testing::TestWithParam<int> {};

TEST_P(SoftmaxSizeTest, AgreesWithLongDoubleAtEveryDistanceFromTheLargest) {
  std::mt19937_64 random(static_cast<unsigned>(GetParam()));
  std::uniform_real_distribution<float> logit(-300, 20);
  std::vector<float> logits(static_cast<std::size_t>(GetParam()));
  for (float& value : logits) value = logit(random);
  std::vector<double> pmf(logits.size());
  for (const double temperature : {0.7, 1.0, 2.5}) {
    ASSERT_TRUE(Softmax(logits, temperature, pmf));
    EXPECT_NEAR(Sum(pmf), 1, kPmfSumTolerance);
    const std::vector<long double> expected = LongDoubleSoftmax(logits, temperature);
    const long double largest = *std::max_element(expected.begin(), expected.end());
    for (std::size_t x = 0; x < pmf.size(); ++x) {
      const auto distance = static_cast<double>(std::log(largest / expected[x]));
      ASSERT_NEAR(static_cast<double>(pmf[x] / expected[x]), 1, 1e-15 * (12 + distance)) << x;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SoftmaxSizeTest,
                         testing::Values(1, 2, 31, 32, 33, 1023, 1024, 1025, 50257, 262'144));

TEST(SoftmaxTest, GivesZeroFarBelowTheLargest) {
  std::vector<double> pmf(3);
  ASSERT_TRUE(Softmax(std::vector<float>{0, -707, -709}, 1, pmf));
  EXPECT_EQ(pmf[0], 1);
  EXPECT_GT(pmf[1], 0);
  EXPECT_EQ(pmf[2], 0);
}

// The largest logit of each block is far from that of the others.
TEST(SoftmaxTest, AgreesWithLongDoubleAcrossBlocks) {
  std::vector<float> logits(5000);
  for (std::size_t x = 0; x < logits.size(); ++x) {
    logits[x] = static_cast<float>((x / 1000) * 200) - 0.001f * static_cast<float>(x % 1000);
  }
  std::vector<double> pmf(logits.size());
  ASSERT_TRUE(Softmax(logits, 1, pmf));
  const std::vector<long double> expected = LongDoubleSoftmax(logits, 1);
  for (std::size_t x = 1000; x < pmf.size(); ++x) {
    ASSERT_NEAR(static_cast<double>(pmf[x] / expected[x]), 1, 1e-12) << x;
  }
  for (std::size_t x = 0; x < 1000; ++x) EXPECT_EQ(pmf[x], 0) << x;
}

TEST(SoftmaxTest, StandsExtremeLogitsAndTemperatures) {
  const float largest = std::numeric_limits<float>::max();
  std::vector<double> pmf(2);
  ASSERT_TRUE(Softmax(std::vector<float>{largest, -largest}, 1e-6, pmf));
  EXPECT_EQ(pmf, (std::vector<double>{1, 0}));
  ASSERT_TRUE(Softmax(std::vector<float>{3, -3}, 1e300, pmf));
  EXPECT_EQ(pmf, (std::vector<double>{0.5, 0.5}));
  // A temperature so small that its inverse overflows picks the largest.
  ASSERT_TRUE(Softmax(std::vector<float>{3, -3}, 1e-310, pmf));
  EXPECT_EQ(pmf, (std::vector<double>{1, 0}));
}

TEST(SoftmaxTest, RefusesLogitsThatAreNotFiniteWhereverTheyAre) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t place : {0u, 16u, 37u, 39u}) {
      std::vector<float> logits(40, 1.0f);
      logits[place] = bad;
      std::vector<double> pmf(logits.size());
      EXPECT_FALSE(Softmax(logits, 1, pmf));
    }
  }
}

TEST(LargestOfTest, FindsTheLargestAndWhetherAllAreFinite) {
  base::WithEachInstructionSet([&] {
    for (const std::size_t size : {1u, 31u, 32u, 33u, 70u}) {
      for (std::size_t place = 0; place < size; ++place) {
        std::vector<float> logits(size, -3);
        logits[place] = -2;
        EXPECT_EQ(LargestOf(logits).value, -2);
        EXPECT_TRUE(LargestOf(logits).all_finite);
        for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity()}) {
          logits[place] = bad;
          EXPECT_FALSE(LargestOf(logits).all_finite) << size << ", " << place;
        }
      }
    }
  });
}

}  // namespace softmax_test
}  // namespace submix::divergence
