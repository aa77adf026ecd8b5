#include "submix/decode/weight_groups.h"

#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "submix/decode/testing/weight_at.h"

namespace submix::decode {
namespace weight_groups_test {

std::vector<float> Normal(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// Root of the mean squared error over the root of the mean square.
template <int kBits>
double RelativeError(int columns) {
  IntegerGroup<kBits> group = {};
  double error = 0, size = 0;
  for (int column = 0; column < columns; ++column) {
    const auto values = Normal(kGroupInputs, static_cast<unsigned>(column));
    StoreColumn(std::span<const float>(values), column, group);
    for (int k = 0; k < kGroupInputs; ++k) {
      const double value = values[static_cast<std::size_t>(k)];
      error += std::pow(value - WeightAt(group, k, column), 2);
      size += value * value;
    }
  }
  return std::sqrt(error / size);
}

TEST(WeightGroupsTest, LosesWhatUniformStepsLose) {
  // Steps of largest / 127 lose step / sqrt(12); the largest of 32 normal values is 2.07 in the
  // mean.
  EXPECT_LT(RelativeError<8>(kPanelColumns), 2.4 / 127 / std::sqrt(12.0));
  EXPECT_LT(RelativeError<4>(kPanelColumns), 2.4 / 7.5 / std::sqrt(12.0));
}

TEST(WeightGroupsTest, SaysMultiplesOfTheScaleExactly) {
  std::vector<float> values;
  for (int k = 0; k < kGroupInputs; ++k) values.push_back(0.25f * static_cast<float>(k % 16 - 8));
  IntegerGroup<4> group = {};
  // A neighbour in the other half of the same bytes.
  StoreColumn(std::span<const float>(Normal(kGroupInputs, 5)), 19, group);
  StoreColumn(std::span<const float>(values), 3, group);
  for (int k = 0; k < kGroupInputs; ++k) {
    EXPECT_EQ(WeightAt(group, k, 3), values[static_cast<std::size_t>(k)]);
  }
}

template <int kBits>
void ExpectEdges() {
  IntegerGroup<kBits> group = {};
  const std::vector<float> none(5, 0.0f);
  StoreColumn(std::span<const float>(none), 0, group);
  const std::vector<float> broken = {1, std::numeric_limits<float>::infinity()};
  StoreColumn(std::span<const float>(broken), 31, group);
  const std::vector<float> tiny = {1e-40f, -1e-42f};
  StoreColumn(std::span<const float>(tiny), 17, group);
  for (int k = 0; k < kGroupInputs; ++k) {
    EXPECT_EQ(WeightAt(group, k, 0), 0);
    EXPECT_TRUE(std::isnan(WeightAt(group, k, 31)));
    EXPECT_NEAR(WeightAt(group, k, 17), 0, 1e-39);
  }
}

TEST(WeightGroupsTest, ZerosWhatIsNotFiniteAndWhatIsTiny) {
  ExpectEdges<4>();
  ExpectEdges<8>();
}

}  // namespace weight_groups_test
}  // namespace submix::decode
