#include "submix/mechanism/kernels/ratio_kernels.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/each_instruction_set.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace ratio_kernels_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(RatioKernelsTest, LogarithmsAgreeWithTheLibraryInLongDouble) {
  const auto random = base::MakeSeededRandomSource(1);
  for (const double spread : {1e-9, 1e-3, 1.0, 600.0}) {
    std::vector<double> values;
    for (int i = 0; i < 20000; ++i) {
      values.push_back(std::exp(spread * (2 * NextUnit(*random) - 1)));
    }
    std::vector<double> products = values;
    std::vector<double> sums(values.size(), 0);
    TakeLogs(products.data(), products.size(), sums.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const long double exact = std::log(static_cast<long double>(values[i]));
      ASSERT_NEAR(sums[i], static_cast<double>(exact), 0x1p-50 * std::abs(sums[i])) << values[i];
      ASSERT_EQ(products[i], 1);
    }
  }
}

TEST(RatioKernelsTest, RatiosStayInTheirWindowWhateverTheInput) {
  const RatioWindow window{.25, 4};
  const std::vector<double> first = {1, 3, 100, 0, -1, kNan, kInfinity, -kInfinity, 1e308, .5};
  const std::vector<double> second = {1, 1, 100, 0, -1, 0, 0, 0, 1e308, .1};
  const std::vector<double> inverse = {.5, .5, .5, .5, .5, .5, .5, .5, 1e10, .5};
  const std::vector<double> expected = {1, 2, 4, .25, .25, .25, 4, .25, 4, .3};
  std::vector<double> products(first.size(), 2);
  MultiplyRatios(first.data(), second.data(), inverse.data(), window, first.size(),
                 products.data());
  std::vector<double> logs(first.size());
  LogRatios(first.data(), second.data(), inverse.data(), window, first.size(), logs.data());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_DOUBLE_EQ(products[i], 2 * expected[i]) << i;
    EXPECT_DOUBLE_EQ(logs[i], std::log(expected[i])) << i;
  }
  MultiplyRatios(first.data(), second.data(), inverse.data(), RatioWindow(), first.size(),
                 products.data());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_DOUBLE_EQ(products[i], 2 * expected[i]);
}

TEST(RatioKernelsTest, WeightsAreFloorsOfExponentials) {
  const auto random = base::MakeSeededRandomSource(2);
  std::vector<double> bases;
  std::vector<double> sums;
  for (int i = 0; i < 20000; ++i) {
    bases.push_back(std::exp2(50 * NextUnit(*random)));
    sums.push_back(64 * (2 * NextUnit(*random) - 1));
  }
  std::vector<std::uint64_t> weights(bases.size());
  const std::uint64_t total =
      FloorOfExponentials(bases.data(), sums.data(), 1.0 / 8, bases.size(), weights.data());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const long double exact = bases[i] * std::exp(static_cast<long double>(sums[i]) / 8);
    const long double slack = exact * 0x1p-47L;
    ASSERT_LE(static_cast<long double>(weights[i]), exact + slack);
    ASSERT_GT(static_cast<long double>(weights[i]) + 1, exact - slack);
    sum += weights[i];
  }
  EXPECT_EQ(total, sum);
}

// What every kernel makes of 509 tokens: no multiple of any vector.
std::vector<double> RunAll() {
  constexpr std::size_t kCount = 509;
  const auto random = base::MakeSeededRandomSource(3);
  const Pmf first = RandomPmf(*random, kCount, 6);
  const Pmf second = RandomPmf(*random, kCount, 6);
  const std::vector<double> inverse(kCount, kCount / 2.);
  std::vector<double> products(kCount, 1.25);
  std::vector<double> logs(kCount);
  std::vector<double> sums(kCount);
  std::vector<std::uint64_t> weights(kCount);
  MultiplyRatios(first.data(), second.data(), inverse.data(), {.1, 9}, kCount, products.data());
  LogRatios(first.data(), second.data(), inverse.data(), {.1, 9}, kCount, logs.data());
  AddScaled(logs.data(), .3, kCount, sums.data());
  TakeLogs(products.data(), kCount, sums.data());
  WeightedMoments moments;
  AddMoments(sums.data(), first.data(), kCount, moments);
  const std::vector<double> bases(kCount, 0x1p40);
  const std::uint64_t total =
      FloorOfExponentials(bases.data(), sums.data(), .7, kCount, weights.data());
  std::vector<double> all = {moments.least, moments.most, moments.sum, moments.squares,
                             static_cast<double>(total)};
  all.insert(all.end(), logs.begin(), logs.end());
  all.insert(all.end(), sums.begin(), sums.end());
  all.insert(all.end(), weights.begin(), weights.end());
  return all;
}

TEST(RatioKernelsTest, GiveTheSameBitsWithEveryInstructionSet) {
  const std::vector<double> expected = RunAll();
  base::WithEachInstructionSet([&] { EXPECT_EQ(RunAll(), expected); });
}

TEST(RatioKernelsTest, FloorsAreExactUpToTwoToThe62) {
  const std::vector<double> zeros(8, 0);
  const std::vector<double> bases = {
      0, .999999, 1, 1.5, 0x1p31 - 1, 0x1p52 + 1023, 0x1.fffffffffffffp61, 0x1p31};
  std::vector<std::uint64_t> weights(8);
  FloorOfExponentials(bases.data(), zeros.data(), 1, 8, weights.data());
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(weights[i], static_cast<std::uint64_t>(bases[i])) << bases[i];
  }
}

}  // namespace ratio_kernels_test
}  // namespace submix::mechanism
