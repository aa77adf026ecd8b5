#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "submix/decode/matrix_product.h"
#include "submix/model/half_float.h"

namespace submix::decode {
namespace activations_test {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
// Around every vector length.
constexpr int kCounts[] = {1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 771};

std::vector<float> RandomRow(int count, float magnitude, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, magnitude);
  std::vector<float> row(static_cast<std::size_t>(count));
  for (float& x : row) x = normal(random);
  return row;
}

// What StoreActivations writes, in front of bytes that it must leave alone.
template <typename Stored>
std::vector<Stored> Store(ActivationFormat format, const std::vector<float>& row, float* scale) {
  constexpr auto kUntouched = std::byte{0x5a};
  const std::size_t bytes = ActivationRowBytes(format, static_cast<int>(row.size()));
  std::vector<std::byte> out(bytes + 64, kUntouched);
  StoreActivations(format, row, out.data(), scale);
  for (std::size_t i = bytes; i < out.size(); ++i) EXPECT_EQ(out[i], kUntouched);
  std::vector<Stored> stored(bytes / sizeof(Stored));
  std::memcpy(stored.data(), out.data(), bytes);
  for (std::size_t i = row.size(); i < stored.size(); ++i) EXPECT_EQ(stored[i], Stored{}) << i;
  return stored;
}

TEST(ActivationsTest, RowsAreWholeCacheLines) {
  EXPECT_EQ(ActivationRowBytes(ActivationFormat::kFloat32, 1), 64u);
  EXPECT_EQ(ActivationRowBytes(ActivationFormat::kFloat32, 17), 128u);
  EXPECT_EQ(ActivationRowBytes(ActivationFormat::kBfloat16, 32), 64u);
  EXPECT_EQ(ActivationRowBytes(ActivationFormat::kBfloat16, 33), 128u);
  EXPECT_EQ(ActivationRowBytes(ActivationFormat::kInt8, 64), 64u);
  EXPECT_EQ(ActivationRowBytes(ActivationFormat::kInt8, 65), 128u);
}

TEST(ActivationsTest, FloatsAreCopied) {
  for (const int count : kCounts) {
    std::vector<float> row = RandomRow(count, 1, 1);
    row[0] = -kInfinity;
    const auto stored = Store<float>(ActivationFormat::kFloat32, row, nullptr);
    for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(stored[i], row[i]);
  }
}

TEST(ActivationsTest, Bfloat16IsRoundedAsInFiles) {
  for (const int count : kCounts) {
    std::vector<float> row = RandomRow(count, 3, 2);
    const auto stored = Store<std::uint16_t>(ActivationFormat::kBfloat16, row, nullptr);
    for (std::size_t i = 0; i < row.size(); ++i) {
      EXPECT_EQ(stored[i], model::Bfloat16FromFloat(row[i]));
    }
  }
  // Ties, numbers without normal form, overflow, and NaNs whose payload would round up to infinity.
  std::vector<float> row;
  for (const std::uint32_t bits :
       {0x3f808000u, 0x3f818000u, 0xbf808001u, 0x00000001u, 0x80008000u, 0x7f7fffffu, 0x7f800000u,
        0xff800000u, 0x7f800001u, 0x7fffffffu, 0xffffffffu, 0x80000000u}) {
    row.push_back(std::bit_cast<float>(bits));
  }
  const auto stored = Store<std::uint16_t>(ActivationFormat::kBfloat16, row, nullptr);
  for (std::size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(stored[i], model::Bfloat16FromFloat(row[i])) << i;
  }
}

TEST(ActivationsTest, IntegersAreTheNearestOnTheGridOfTheLargest) {
  for (const int count : kCounts) {
    for (const float magnitude : {1e-20f, 0.3f, 1.0f, 1e30f}) {
      const std::vector<float> row = RandomRow(count, magnitude, static_cast<unsigned>(count));
      float largest = 0;
      for (const float x : row) largest = std::max(largest, std::abs(x));
      float scale = 0;
      const auto stored = Store<std::int8_t>(ActivationFormat::kInt8, row, &scale);
      EXPECT_EQ(scale, largest / 127);
      int most = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        EXPECT_EQ(stored[i], std::nearbyint(row[i] * (127 / largest))) << row[i];
        EXPECT_LE(std::abs(double{row[i]} - double{scale} * stored[i]), 0.50001 * double{scale});
        most = std::max(most, std::abs(stored[i]));
      }
      EXPECT_EQ(most, 127);
    }
  }
}

TEST(ActivationsTest, TiesGoToTheEvenInteger) {
  float scale = 0;
  const auto stored =
      Store<std::int8_t>(ActivationFormat::kInt8, {127, 0.5f, 1.5f, -2.5f, -126.5f, 0.25f}, &scale);
  EXPECT_EQ(scale, 1);
  const std::int8_t expected[] = {127, 0, 2, -2, -126, 0};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(stored[i], expected[i]) << i;
}

TEST(ActivationsTest, TheLargestAndTheSmallestFloatsHaveAScale) {
  constexpr float kMost = std::numeric_limits<float>::max();
  float scale = 0;
  auto stored = Store<std::int8_t>(ActivationFormat::kInt8, {kMost, -kMost, 0}, &scale);
  EXPECT_EQ(scale, kMost / 127);
  EXPECT_EQ(stored[0], 127);
  EXPECT_EQ(stored[1], -127);
  for (const float least :
       {std::numeric_limits<float>::denorm_min(), -0x1p-126f, 0x1p-110f, 0.0f}) {
    stored = Store<std::int8_t>(ActivationFormat::kInt8, {least, 0}, &scale);
    EXPECT_TRUE(std::isfinite(scale) && scale > 0);
    EXPECT_EQ(stored[0], 0) << least;
  }
}

TEST(ActivationsTest, ARowThatIsNotFiniteHasTheScaleNan) {
  for (const int count : kCounts) {
    for (const float broken : {kNan, -kNan, kInfinity, -kInfinity}) {
      for (const std::size_t place : {std::size_t{0}, static_cast<std::size_t>(count) - 1}) {
        std::vector<float> row = RandomRow(count, 1, 5);
        row[place] = broken;
        float scale = 0;
        const auto stored = Store<std::int8_t>(ActivationFormat::kInt8, row, &scale);
        EXPECT_TRUE(std::isnan(scale));
        for (const std::int8_t q : stored) EXPECT_EQ(q, 0);
      }
    }
  }
}

}  // namespace activations_test
}  // namespace submix::decode
