#include "submix/mechanism/kernels/weight_kernels.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/each_instruction_set.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace weight_kernels_test {

// No multiple of any vector, and more than a block.
constexpr std::size_t kCount = kBlockTokens + 509;

struct Input {
  Input() {
    const auto random = base::MakeSeededRandomSource(1);
    first = RandomPmf(*random, kCount, 6);
    second = RandomPmf(*random, kCount, 6);
    public_pmf = RandomPmf(*random, kCount, 6);
    for (std::size_t x = 0; x < kCount; ++x) sums.push_back(first[x] + second[x] + public_pmf[x]);
  }
  Pmf first, second, public_pmf, sums;
};

// What every kernel makes of it, one after another.
std::vector<double> RunAll(const Input& in) {
  std::vector<double> all;
  const auto keep = [&](const auto& values) {
    all.insert(all.end(), values.begin(), values.end());
  };
  all.push_back(CheckedSum(in.first.data(), kCount));
  all.push_back(static_cast<double>(LargestIndex(in.first.data(), kCount)));
  std::vector<std::uint64_t> weights(kCount);
  std::vector<std::int64_t> integers(kCount);
  std::vector<double> room(kCount), rest(kCount), shift(kCount), law(kCount);
  const auto add = [&](std::int64_t sum) { all.push_back(static_cast<double>(sum)); };
  add(FloorToWeights(in.public_pmf.data(), 0x1p40, kCount, weights.data()));
  keep(weights);
  all.push_back(FillPublicFloors(weights.data(), .3, 5, kCount, room.data(), rest.data()));
  keep(room);
  keep(rest);
  FillShift(in.first.data(), in.second.data(), room.data(), 0x1p39, .7, kCount, shift.data());
  RaiseToLeast(-0x1p38, kCount, shift.data());
  add(FloorInPlace(shift.data(), integers.data(), kCount));
  keep(shift);
  keep(integers);
  add(FillLaw(in.sums.data(), in.public_pmf.data(), 0x1p38, 0x1p37, kCount, law.data(),
              weights.data()));
  keep(law);
  keep(weights);
  add(FillLawWithout(in.sums.data(), in.first.data(), in.second.data(), in.public_pmf.data(),
                     0x1p38, 0x1p37, kCount, law.data()));
  keep(law);
  AddBoth(in.first.data(), in.second.data(), kCount, law.data());
  Subtract(law.data(), in.sums.data(), kCount, rest.data());
  keep(rest);
  MultiplyWeights(3, kCount, weights.data());
  keep(weights);
  return all;
}

TEST(WeightKernelsTest, GiveTheSameBitsWithEveryInstructionSet) {
  const Input input;
  const std::vector<double> expected = RunAll(input);
  base::WithEachInstructionSet([&] { EXPECT_EQ(RunAll(input), expected); });
}

TEST(WeightKernelsTest, FloorsAreThoseOfTheLibrary) {
  const auto random = base::MakeSeededRandomSource(2);
  std::vector<double> values = {0, -0.5, -1, 1.5, 0x1p51 - .5, -0x1p51 + .5, 0x1p-60, -0x1p-60};
  while (values.size() < kCount) values.push_back((NextUnit(*random) - .5) * 0x1p40);
  std::vector<double> floors = values;
  std::vector<std::int64_t> integers(kCount);
  const std::int64_t total = FloorInPlace(floors.data(), integers.data(), kCount);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(floors[i], std::floor(values[i])) << values[i];
    EXPECT_EQ(integers[i], static_cast<std::int64_t>(std::floor(values[i]))) << values[i];
    sum += integers[i];
  }
  EXPECT_EQ(total, sum);
}

TEST(WeightKernelsTest, TheFirstOfTheLargestIsFound) {
  std::vector<double> values(kCount, .5);
  EXPECT_EQ(LargestIndex(values.data(), kCount), 0u);
  for (const std::size_t at : {std::size_t{3}, kBlockTokens, kCount - 1}) {
    values.assign(kCount, .5);
    values[at] = values[kCount - 1] = .75;
    EXPECT_EQ(LargestIndex(values.data(), kCount), at);
  }
}

TEST(WeightKernelsTest, ASumTellsNumbersFromNone) {
  for (const double broken : {-1e-300, std::numeric_limits<double>::quiet_NaN()}) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{300}, kCount - 1}) {
      std::vector<double> values(kCount, 1);
      EXPECT_EQ(CheckedSum(values.data(), kCount), static_cast<double>(kCount));
      values[at] = broken;
      EXPECT_TRUE(std::isnan(CheckedSum(values.data(), kCount)));
    }
  }
}

}  // namespace weight_kernels_test
}  // namespace submix::mechanism
