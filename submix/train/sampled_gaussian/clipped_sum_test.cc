#include "submix/train/sampled_gaussian/clipped_sum.h"

#include <cmath>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/testing/goodness_of_fit.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/ledger/memory_ledger.h"
#include "submix/train/sampled_gaussian/gaussian_noise.h"

namespace submix::train {
namespace clipped_sum_test {

using ::testing::Each;
using ::testing::FloatEq;

constexpr AverageEstimator kSumItself = {false, 1, 1};

ParameterVectors Vectors(std::vector<std::int64_t> sizes) {
  ParameterVectors vectors;
  for (const std::int64_t size : sizes) AppendVector(vectors, "v", {size});
  return vectors;
}

double Norm(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

std::vector<float> RandomUpdate(std::size_t size, double norm, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> update(size);
  for (float& value : update) value = static_cast<float>(random() % 20001) / 10000.0f - 1;
  const double scale = norm / Norm(update);
  for (float& value : update) value = static_cast<float>(value * scale);
  return update;
}

std::vector<float> Average(const ClippedSum& sum, std::size_t size,
                           const AverageEstimator& estimator = kSumItself) {
  std::vector<float> average(size);
  sum.ReleaseWithoutPrivacy(estimator, average);
  return average;
}

ledger::Receipt PaidReceipt() {
  const auto ledger = ledger::MakeMemoryLedger(1, accounting::FixedNats::RoundDown(1));
  const accounting::FixedNats charge = accounting::FixedNats::RoundUp(0.5);
  const ledger::ChargeRequest request = {{}, accounting::ChargeRule::kPerPart, {&charge, 1}};
  auto receipts = ledger->Charge({&request, 1});
  return std::move(receipts.value()[0]);
}

TEST(ClippedSumTest, FlatClippingKeepsTheDirectionAndTheNorm) {
  ClippedSum sum(Vectors({30, 20}), {.norm = 2});
  const std::vector<float> update = RandomUpdate(50, 10, 1);
  sum.Add(update, 1);
  const std::vector<float> clipped = Average(sum, 50);
  EXPECT_LE(Norm(clipped), 2);
  EXPECT_NEAR(Norm(clipped), 2, 1e-5);
  for (std::size_t i = 0; i < 50; ++i) EXPECT_NEAR(clipped[i], update[i] / 5, 1e-5);
}

TEST(ClippedSumTest, ShortUpdatesStayAsTheyAre) {
  ClippedSum sum(Vectors({50}), {.norm = 2});
  const std::vector<float> update = RandomUpdate(50, 1.9, 2);
  sum.Add(update, 1);
  const std::vector<float> kept = Average(sum, 50);
  for (std::size_t i = 0; i < 50; ++i) EXPECT_NEAR(kept[i], update[i], 1e-9);
}

TEST(ClippedSumTest, PerLayerClippingSharesTheNormEqually) {
  ClippedSum sum(Vectors({10, 10, 10, 10}), {.norm = 2, .per_layer = true});
  std::vector<float> update = RandomUpdate(40, 40, 3);
  for (std::size_t i = 30; i < 40; ++i) update[i] = 1e-3f;  // within its share
  sum.Add(update, 1);
  const std::vector<float> clipped = Average(sum, 40);
  for (int layer = 0; layer < 3; ++layer) {
    EXPECT_NEAR(Norm(std::span(clipped).subspan(10 * layer, 10)), 1, 1e-5);
  }
  EXPECT_NEAR(clipped[35], 1e-3f, 1e-9);
  EXPECT_LE(Norm(clipped), 2);
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
    EXPECT_LE(Norm(Average(sum, gradient.size())), 0.1 * (1 + 1e-7)) << trial;
    EXPECT_NEAR(Norm(Average(sum, gradient.size())), std::min(length, 0.1), 2e-7) << trial;
  }
}

TEST(ClippedSumTest, TheSumDoesNotDependOnTheOrder) {
  constexpr int kUpdates = 60;
  const auto add = [](ClippedSum& sum, int i) {
    sum.Add(RandomUpdate(200, i == 8 ? 1e20 : 0.1 * i, 10 + i), i % 7 / 6.0);
  };
  const UpdateClipping clipping = {.norm = 3};
  ClippedSum forward(Vectors({200}), clipping);
  ClippedSum backward(Vectors({200}), clipping);
  ClippedSum even(Vectors({200}), clipping);
  ClippedSum odd(Vectors({200}), clipping);
  for (int i = 0; i < kUpdates; ++i) add(forward, i);
  for (int i = kUpdates - 1; i >= 0; --i) add(backward, i);
  for (int i = 0; i < kUpdates; ++i) add(i % 2 == 0 ? even : odd, i);
  even.Add(odd);
  const AverageEstimator estimator = {true, 0.5, 10};
  const std::vector<float> expected = Average(forward, 200, estimator);
  EXPECT_GT(Norm(expected), 0.1);
  EXPECT_EQ(Average(backward, 200, estimator), expected);
  EXPECT_EQ(Average(even, 200, estimator), expected);
}

// The bound of Lemma 1 holds exactly, whatever is added, with rounding: the difference of two
// neighbouring sums is one user's clipped update.
TEST(ClippedSumTest, OneUserMovesTheAverageByItsSensitivityAtMost) {
  const UpdateClipping clipping = {.norm = 0.7};
  for (const bool clipped_divisor : {false, true}) {
    const AverageEstimator estimator = {clipped_divisor, 0.01, 300};
    double largest = 0;
    for (unsigned trial = 0; trial < 50; ++trial) {
      ClippedSum without(Vectors({100}), clipping);
      for (unsigned i = 0; i < trial % 9; ++i) {
        // Aligned, so that the clipped divisor moves the average against the new update.
        without.Add(std::vector<float>(100, 1.0f), 1);
      }
      ClippedSum with = without;
      with.Add(std::vector<float>(100, trial % 2 == 0 ? -5.0f : 1e20f), 1);
      const std::vector<float> a = Average(without, 100, estimator);
      std::vector<float> difference = Average(with, 100, estimator);
      for (std::size_t i = 0; i < 100; ++i) difference[i] -= a[i];
      largest = std::max(largest, Norm(difference));
    }
    EXPECT_LE(largest, estimator.Sensitivity(clipping.norm));
    EXPECT_GE(largest, estimator.Sensitivity(clipping.norm) * 0.49);
  }
}

TEST(ClippedSumTest, EstimatorsDivideAsThePaperSays) {
  ClippedSum sum(Vectors({4}), {.norm = 100});
  for (int i = 0; i < 3; ++i) sum.Add(std::vector<float>(4, 6.0f), 0.5);
  // The numerator is 9 everywhere, the weight 1.5.
  EXPECT_THAT(Average(sum, 4, {false, 0.1, 20}), Each(FloatEq(4.5f)));
  EXPECT_THAT(Average(sum, 4, {true, 0.1, 20}), Each(FloatEq(4.5f)));
  EXPECT_THAT(Average(sum, 4, {true, 0.1, 10}), Each(FloatEq(6.0f)));
}

TEST(ClippedSumTest, AGradientThatIsNotFiniteAddsNothingAndHarmsNobody) {
  ClippedSum sum(Vectors({2, 2}), {.norm = 1, .per_layer = true});
  sum.Add(std::vector<float>{0.1f, 0.1f, NAN, 0}, 1);
  sum.Add(std::vector<float>{INFINITY, 0.1f, 0.1f, 0}, 1);
  EXPECT_THAT(Average(sum, 4, {true, 1, 1}), Each(0.0f));
  ClippedSum flat(2, 1);
  flat.Add(std::vector<float>{0.5f, 0});
  for (const float value : {NAN, INFINITY, -INFINITY}) flat.Add(std::vector<float>{value, 1});
  EXPECT_THAT(Average(flat, 2), ::testing::ElementsAre(0.5f, 0));
  ClippedSum unclipped(Vectors({2}), {});
  unclipped.Add(std::vector<float>{3.0f, -4.0f}, 1);
  for (const float value : {NAN, INFINITY}) unclipped.Add(std::vector<float>{value, 1}, 1);
  EXPECT_THAT(Average(unclipped, 2), ::testing::ElementsAre(3.0f, -4.0f));
}

TEST(ClippedSumTest, NoiseHasTheStandardDeviationThatIsAccounted) {
  constexpr std::size_t kSize = 20'000;
  constexpr double kMultiplier = 1.3;
  const auto random = base::MakeStatisticalRandomSource(11);
  for (const bool clipped_divisor : {false, true}) {
    ClippedSum sum(kSize, 0.5);
    std::vector<float> update(kSize);
    update[7] = 0.2f;
    sum.Add(update);
    const AverageEstimator estimator = {clipped_divisor, 0.02, 100};
    const double deviation = kMultiplier * (clipped_divisor ? 2 : 1) * 0.5 / (0.02 * 100);
    const auto cdf = [&](double x) { return 0.5 * std::erfc(-x / deviation / std::sqrt(2.0)); };
    std::vector<float> noise(kSize);
    sum.Release(estimator, kMultiplier, PaidReceipt(), *random, noise);
    noise[7] -= 0.1f;
    EXPECT_LT(base::KolmogorovScore({noise.begin(), noise.end()}, cdf, cdf), 2.8);
    // Nobody took part: a step as any other, with noise of its own.
    sum.Clear();
    std::vector<float> again(kSize);
    sum.Release(estimator, kMultiplier, PaidReceipt(), *random, again);
    EXPECT_NE(again, noise);
    EXPECT_LT(base::KolmogorovScore({again.begin(), again.end()}, cdf, cdf), 2.8);
  }
}

// Number for number: the draws of the same source, times the deviation that is accounted, rounded
// to the grid of 2^-36 of the sensitivity. All else here is a power of two, so nothing else rounds.
TEST(ClippedSumTest, TheReleaseIsTheAveragePlusTheAccountedMultipleOfTheDraws) {
  constexpr std::size_t kSize = 200;
  constexpr double kMultiplier = 1.3;
  for (const bool clipped_divisor : {false, true}) {
    ClippedSum sum(kSize, 0.5);
    std::vector<float> update(kSize);
    update[7] = 0.25f;
    sum.Add(update);
    const AverageEstimator estimator = {clipped_divisor, 0.25, 8};
    const double grid = (clipped_divisor ? 2 : 1) * 0.5 / (0.25 * 8) * 0x1p-36;
    const auto of_the_noise = base::MakeSeededRandomSource(12);
    const auto of_the_release = base::MakeSeededRandomSource(12);
    std::vector<float> released(kSize);
    sum.Release(estimator, kMultiplier, PaidReceipt(), *of_the_release, released);
    GaussianNoise noise(*of_the_noise);
    for (std::size_t i = 0; i < kSize; ++i) {
      const double average = i == 7 ? 0.25 / (0.25 * 8) : 0;
      const double units =
          average / grid + static_cast<double>(std::round(kMultiplier * 0x1p36 * noise.Next()));
      ASSERT_EQ(released[i], static_cast<float>(grid * units)) << i;
    }
  }
}

TEST(ClippedSumTest, WithoutNoiseTheReleaseIsTheAverage) {
  ClippedSum sum(Vectors({300}), {.norm = 3});
  for (unsigned i = 0; i < 5; ++i) sum.Add(RandomUpdate(300, 1.0 + i, i), 1);
  const AverageEstimator estimator = {false, 0.5, 8};
  const auto random = base::MakeSeededRandomSource(1);
  std::vector<float> released(300);
  sum.Release(estimator, 0, PaidReceipt(), *random, released);
  const std::vector<float> average = Average(sum, 300, estimator);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_NEAR(released[i], average[i], 1e-9);
}

TEST(ClippedSumDeathTest, MoreUpdatesThanItsGridIsMadeForAreRefused) {
  ClippedSum power(1, 0x1p-20);
  power.Add(std::vector<float>{1});
  const ClippedSum one = power;
  ClippedSum sum(1, 0x1p-20);
  for (std::int64_t updates = 1; updates <= ClippedSum::kMostUpdates; updates *= 2) {
    sum.Add(power);
    if (2 * updates <= ClippedSum::kMostUpdates) power.Add(ClippedSum(power));
  }
  // As many as there may be, all the same: the integers hold them.
  EXPECT_NEAR(Average(sum, 1)[0], 0x1p-20 * ClippedSum::kMostUpdates, 1e-5);
  EXPECT_DEATH(sum.Add(std::vector<float>{1}), "more updates");
  EXPECT_DEATH(sum.Add(one), "more updates");
  sum.Clear();
  sum.Add(one);
}

TEST(ClippedSumDeathTest, WithoutAPaidReceiptThereIsNoResult) {
  ClippedSum sum(Vectors({3}), {.norm = 1});
  std::vector<float> average(3);
  const auto random = base::MakeSeededRandomSource(1);
  ledger::Receipt used = PaidReceipt();
  const ledger::Receipt taken = std::move(used);
  EXPECT_DEATH(sum.Release(kSumItself, 1, std::move(used), *random, average), "needs a receipt");
  const auto ledger = ledger::MakeMemoryLedger(1, accounting::FixedNats::RoundDown(1));
  const accounting::FixedNats charge = accounting::FixedNats::RoundUp(2);
  const ledger::ChargeRequest request = {{}, accounting::ChargeRule::kPerPart, {&charge, 1}};
  auto receipts = ledger->Charge({&request, 1});
  SUBMIX_ASSERT_OK(receipts);
  EXPECT_DEATH(sum.Release(kSumItself, 1, std::move(receipts.value()[0]), *random, average),
               "needs a receipt");
}

}  // namespace clipped_sum_test
}  // namespace submix::train
