#include "submix/train/clipped_sum.h"

#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

#include "submix/base/testing/goodness_of_fit.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/ledger/memory_ledger.h"

namespace submix::train {
namespace {

using accounting::FixedNats;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A receipt of a ledger that has enough, or of one that has not.
ledger::Receipt MakeReceipt(bool paid = true) {
  const auto ledger = ledger::MakeMemoryLedger(1, FixedNats::RoundDown(paid ? 1 : 0.25));
  const FixedNats charge = FixedNats::RoundUp(0.5);
  const ledger::ChargeRequest request = {.release_id = {1, 1}, .charges = {&charge, 1}};
  return std::move(ledger->Charge({&request, 1})->front());
}

// The sum itself, in units of 1 / divisor: only a test draws no noise.
std::vector<float> WithoutNoise(const ClippedSum& sum, std::size_t size, double divisor = 1) {
  std::vector<float> result(size);
  const auto random = base::MakeSeededRandomSource(1);
  sum.Release(0, divisor, MakeReceipt(), *random, result);
  return result;
}

double Norm(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

TEST(ClippedSumTest, ClipsWhatIsLongerAndKeepsWhatIsShorter) {
  ClippedSum sum(3, 0.5);
  sum.Add(std::vector<float>{3, 0, 4});
  const std::vector<float> clipped = WithoutNoise(sum, 3);
  EXPECT_NEAR(clipped[0], 0.3, 1e-7);
  EXPECT_EQ(clipped[1], 0);
  EXPECT_NEAR(clipped[2], 0.4, 1e-7);
  sum.Add(std::vector<float>{0.25f, -0.125f, 0});
  const std::vector<float> both = WithoutNoise(sum, 3, /*divisor=*/4);
  EXPECT_NEAR(both[0], 0.55 / 4, 1e-7);
  EXPECT_NEAR(both[1], -0.125 / 4, 1e-7);
  sum.Clear();
  EXPECT_EQ(WithoutNoise(sum, 3), std::vector<float>(3));
}

TEST(ClippedSumTest, NoUserMovesTheSumByMoreThanTheClip) {
  const auto random = base::MakeSeededRandomSource(3);
  const auto uniform = [&] { return static_cast<float>(random->NextUint64() >> 40) * 0x1p-24f; };
  for (int trial = 0; trial < 200; ++trial) {
    // Lengths from far below to far above the clip, and some within rounding of it.
    const double length = trial < 100 ? 0.1 : std::pow(10.0, trial % 40 - 20);
    std::vector<float> gradient(1 + static_cast<std::size_t>(trial) * 13);
    for (float& value : gradient) value = uniform() - 0.5f;
    const double norm = Norm(gradient);
    for (float& value : gradient) {
      value = static_cast<float>(static_cast<double>(value) * length / norm);
    }
    ClippedSum sum(gradient.size(), 0.1);
    sum.Add(gradient);
    // Float32's rounding of what is released, as of all of it.
    EXPECT_LE(Norm(WithoutNoise(sum, gradient.size())), 0.1 * (1 + 1e-7)) << trial;
    EXPECT_NEAR(Norm(WithoutNoise(sum, gradient.size())), std::min(length, 0.1), 1e-7) << trial;
  }
}

TEST(ClippedSumTest, TheSumDoesNotDependOnTheOrder) {
  const std::vector<float> large = {1e20f, 1};
  const std::vector<float> small = {1e-7f, 3e-8f};
  ClippedSum one(2, 1);
  ClippedSum other(2, 1);
  for (int i = 0; i < 1000; ++i) one.Add(small);
  one.Add(large);
  other.Add(large);
  for (int i = 0; i < 1000; ++i) other.Add(small);
  EXPECT_EQ(WithoutNoise(one, 2), WithoutNoise(other, 2));
  EXPECT_NEAR(WithoutNoise(one, 2)[1], 3e-5, 1e-6);
}

TEST(ClippedSumTest, AGradientThatIsNotFiniteAddsNothingAndHarmsNobody) {
  ClippedSum sum(2, 1);
  sum.Add(std::vector<float>{0.5f, 0});
  for (const float value : {kNan, kInfinity, -kInfinity}) sum.Add(std::vector<float>{value, 1});
  EXPECT_EQ(WithoutNoise(sum, 2), (std::vector<float>{0.5f, 0}));
}

TEST(ClippedSumTest, NoiseHasTheStandardDeviationThatIsAccounted) {
  constexpr double kClip = 0.3;
  constexpr double kNoise = 1.7;
  constexpr double kDivisor = 5;
  constexpr std::size_t kSize = 100000;
  ClippedSum sum(kSize, kClip);
  std::vector<float> gradient(kSize);
  gradient[7] = 0.2f;
  sum.Add(gradient);
  const auto random = base::MakeStatisticalRandomSource(4);
  std::vector<float> result(kSize);
  sum.Release(kNoise, kDivisor, MakeReceipt(), *random, result);
  std::vector<double> noise(result.begin(), result.end());
  noise[7] -= static_cast<double>(gradient[7]) / kDivisor;
  const auto cdf = [&](double x) {
    return 0.5 * std::erfc(-x * kDivisor / (kNoise * kClip * std::numbers::sqrt2));
  };
  EXPECT_LT(base::KolmogorovScore(noise, cdf, cdf), 2.8);
  // Noise only: an empty batch is a step as any other, with noise of its own.
  sum.Clear();
  std::vector<float> again(kSize);
  sum.Release(kNoise, kDivisor, MakeReceipt(), *random, again);
  EXPECT_NE(again, result);
  noise.assign(again.begin(), again.end());
  EXPECT_LT(base::KolmogorovScore(noise, cdf, cdf), 2.8);
}

TEST(ClippedSumDeathTest, WithoutAPaidReceiptThereIsNoResult) {
  ClippedSum sum(1, 1);
  const auto random = base::MakeSeededRandomSource(1);
  std::vector<float> result(1);
  EXPECT_DEATH(sum.Release(1, 1, MakeReceipt(/*paid=*/false), *random, result), "receipt");
  ledger::Receipt used = MakeReceipt();
  const ledger::Receipt taken = std::move(used);
  EXPECT_DEATH(sum.Release(1, 1, std::move(used), *random, result), "receipt");
}

}  // namespace
}  // namespace submix::train
