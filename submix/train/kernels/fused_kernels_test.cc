#include "submix/train/kernels/fused_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace submix::train {
namespace fused_kernels_test {

std::vector<float> Normal(std::size_t count, double deviation, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(normal(generator));
  return values;
}

TEST(FusedKernelsTest, CrossEntropyEqualsItsDefinitionForEveryTailLength) {
  for (std::size_t vocab = 1; vocab < 70; ++vocab) {
    const std::vector<float> logits = Normal(vocab, 5, vocab);
    const auto target = static_cast<std::int64_t>(vocab / 2);
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x));
    std::vector<float> row = logits;
    const double loss =
        SoftmaxCrossEntropyRow(row.data(), static_cast<std::int64_t>(vocab), target, 2.0f);
    EXPECT_NEAR(loss, std::log(sum) - logits[vocab / 2], 1e-5);
    for (std::size_t i = 0; i < vocab; ++i) {
      const double p = std::exp(static_cast<double>(logits[i])) / sum;
      EXPECT_NEAR(row[i], 2 * (p - (i == vocab / 2 ? 1 : 0)), 1e-5);
    }
  }
}

TEST(FusedKernelsTest, CrossEntropyHoldsAtTheEndsOfTheRange) {
  std::vector<float> row = {1000, -1000, 0, 999};
  EXPECT_NEAR(SoftmaxCrossEntropyRow(row.data(), 4, 1, 1), 2000 + std::log(1 + std::exp(-1.0)),
              1e-3);
  EXPECT_NEAR(row[1], -1, 1e-6);
  std::vector<float> padding = {1, 2, 3};
  EXPECT_EQ(SoftmaxCrossEntropyRow(padding.data(), 3, -1, 1), 0);
  EXPECT_EQ(padding, std::vector<float>(3));
}

TEST(FusedKernelsTest, NanStaysNan) {
  std::vector<float> row(40, 1.0f);
  row[20] = std::nanf("");
  EXPECT_TRUE(std::isnan(SoftmaxCrossEntropyRow(row.data(), 40, 3, 1)));
  std::vector<float> y(40);
  row.assign(40, 1.0f);
  row[33] = std::nanf("");
  GeluForward(row.data(), y.data(), 40);
  EXPECT_TRUE(std::isnan(y[33]));
  EXPECT_FALSE(std::isnan(y[32]));
}

TEST(FusedKernelsTest, GeluEqualsItsFormulaAndSlope) {
  std::vector<float> x = Normal(1003, 4, 1);
  x[0] = 40;
  x[1] = -40;
  x[2] = 0;
  std::vector<float> y(x.size()), slope(x.size());
  const std::vector<float> ones(x.size(), 1.0f);
  const auto count = static_cast<std::int64_t>(x.size());
  GeluForward(x.data(), y.data(), count);
  GeluBackward(x.data(), ones.data(), slope.data(), count);
  const auto gelu = [](double v) {
    return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(y[i], gelu(x[i]), 2e-6 * (1 + std::abs(x[i])));
    EXPECT_NEAR(slope[i], (gelu(x[i] + 1e-5) - gelu(x[i] - 1e-5)) / 2e-5, 2e-5);
  }
}

// The two bfloat16 numbers around a float are 2^16 of its own steps apart.
TEST(FusedKernelsTest, Bfloat16IsTheNearestWithTiesToEven) {
  std::vector<float> x = Normal(1003, 1e3, 2);
  for (const std::uint32_t bits :
       {0u, 0x80000000u, 0x3f808000u, 0x3f818000u, 0x3f807fffu, 0x3f808001u, 0x7f7f0000u,
        0x7f7fffffu, 0x7f800000u, 0xff800000u, 0x00000001u, 0x00018000u}) {
    x.push_back(std::bit_cast<float>(bits));
  }
  std::vector<std::uint16_t> halves(x.size());
  std::vector<float> back(x.size());
  for (std::size_t count = x.size() - 40; count <= x.size(); ++count) {
    halves.assign(x.size(), 1);
    Bfloat16OfFloats(x.data(), halves.data(), static_cast<std::int64_t>(count));
    FloatsOfBfloat16(halves.data(), back.data(), static_cast<std::int64_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(x[i]);
      const std::uint32_t below = bits >> 16;
      const std::uint32_t rest = bits & 0xffff;
      const bool up = rest > 0x8000 || (rest == 0x8000 && below % 2 == 1);
      ASSERT_EQ(halves[i], below + (up ? 1 : 0)) << x[i];
      ASSERT_EQ(std::bit_cast<std::uint32_t>(back[i]), static_cast<std::uint32_t>(halves[i]) << 16);
    }
    for (std::size_t i = count; i < x.size(); ++i) ASSERT_EQ(halves[i], 1) << "past the end";
  }
}

TEST(FusedKernelsTest, EveryNanIsANanInBfloat16) {
  const std::vector<float> nans = {std::bit_cast<float>(0x7fffffffu),
                                   std::bit_cast<float>(0xffffffffu),
                                   std::bit_cast<float>(0x7f800001u), std::nanf("")};
  std::vector<std::uint16_t> halves(nans.size());
  std::vector<float> back(nans.size());
  Bfloat16OfFloats(nans.data(), halves.data(), 4);
  FloatsOfBfloat16(halves.data(), back.data(), 4);
  for (const float value : back) EXPECT_TRUE(std::isnan(value));
}

}  // namespace fused_kernels_test
}  // namespace submix::train
