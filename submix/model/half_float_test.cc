#include "submix/model/half_float.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace submix::model {
namespace half_float_test {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The definition of a 16-bit float with so many fraction bits and this exponent bias.
double ValueOf(std::uint32_t bits, int fraction_bits, int bias) {
  const std::uint32_t magnitude = bits & 0x7fff;
  const int exponent = static_cast<int>(magnitude >> fraction_bits);
  const auto fraction = static_cast<double>(magnitude & ((1u << fraction_bits) - 1));
  const double unit = std::ldexp(1.0, -fraction_bits);
  const double value = exponent == 0 ? std::ldexp(fraction * unit, 1 - bias)
                                     : std::ldexp(1 + fraction * unit, exponent - bias);
  return (bits & 0x8000) != 0 ? -value : value;
}

TEST(HalfFloatTest, EveryFiniteHalfIsReadExactlyAndComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7c00) == 0x7c00) continue;
    const auto half = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(FloatFromHalf(half), ValueOf(bits, 10, 15)) << bits;
    ASSERT_EQ(HalfFromFloat(FloatFromHalf(half)), half);
  }
}

TEST(HalfFloatTest, EveryFiniteBfloat16IsReadExactlyAndComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7f80) == 0x7f80) continue;
    const auto value = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(FloatFromBfloat16(value), ValueOf(bits, 7, 127)) << bits;
    ASSERT_EQ(Bfloat16FromFloat(FloatFromBfloat16(value)), value);
  }
}

TEST(HalfFloatTest, RoundsToTheNearestHalfAndTiesToEven) {
  for (std::uint32_t low = 0; low < 0x7bff; ++low) {
    const float below = FloatFromHalf(static_cast<std::uint16_t>(low));
    const float above = FloatFromHalf(static_cast<std::uint16_t>(low + 1));
    const float middle = (below + above) / 2;  // exact: a float has 13 more bits
    const std::uint32_t even = low + low % 2;
    ASSERT_EQ(HalfFromFloat(middle), even) << low;
    ASSERT_EQ(HalfFromFloat(-middle), even | 0x8000) << low;
    ASSERT_EQ(HalfFromFloat(std::nextafter(middle, 0.0f)), low);
    ASSERT_EQ(HalfFromFloat(std::nextafter(middle, kInfinity)), low + 1);
  }
}

TEST(HalfFloatTest, RoundsToTheNearestBfloat16AndTiesToEven) {
  for (std::uint32_t low = 0; low < 0x7f7f; ++low) {
    const float middle = std::bit_cast<float>(low << 16 | 0x8000u);
    const std::uint32_t even = low + low % 2;
    ASSERT_EQ(Bfloat16FromFloat(middle), even) << low;
    ASSERT_EQ(Bfloat16FromFloat(-middle), even | 0x8000) << low;
    ASSERT_EQ(Bfloat16FromFloat(std::nextafter(middle, 0.0f)), low);
    ASSERT_EQ(Bfloat16FromFloat(std::nextafter(middle, kInfinity)), low + 1);
  }
}

TEST(HalfFloatTest, OverflowBecomesInfinity) {
  EXPECT_EQ(FloatFromHalf(HalfFromFloat(65519.996f)), 65504.0f);
  EXPECT_EQ(FloatFromHalf(HalfFromFloat(65520.0f)), kInfinity);
  EXPECT_EQ(FloatFromHalf(HalfFromFloat(-1e30f)), -kInfinity);
  EXPECT_EQ(FloatFromBfloat16(Bfloat16FromFloat(std::numeric_limits<float>::max())), kInfinity);
}

TEST(HalfFloatTest, InfinityAndNanSurvive) {
  for (const float infinity : {kInfinity, -kInfinity}) {
    EXPECT_EQ(FloatFromHalf(HalfFromFloat(infinity)), infinity);
    EXPECT_EQ(FloatFromBfloat16(Bfloat16FromFloat(infinity)), infinity);
  }
  // All 23 payload bits and the lowest alone: neither may round up to infinity.
  for (const float nan :
       {kNan, std::bit_cast<float>(0x7f800001u), std::bit_cast<float>(0xffffffffu)}) {
    EXPECT_TRUE(std::isnan(FloatFromHalf(HalfFromFloat(nan))));
    EXPECT_TRUE(std::isnan(FloatFromBfloat16(Bfloat16FromFloat(nan))));
  }
}

TEST(HalfFloatTest, ValuesBelowHalfOfTheLeastBecomeZeroWithTheirSign) {
  EXPECT_EQ(HalfFromFloat(0x1p-25f), 0);
  EXPECT_EQ(HalfFromFloat(-0x1p-25f), 0x8000);
  EXPECT_EQ(HalfFromFloat(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(HalfFromFloat(-0.0f), 0x8000);
}

}  // namespace half_float_test
}  // namespace submix::model
