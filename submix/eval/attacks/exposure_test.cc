#include "submix/eval/attacks/exposure.h"

#include <cmath>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/eval/measuring/testing/reciting_predictor.h"

namespace submix::eval {
namespace exposure_test {

TEST(ExposureTest, IsTheLogarithmOfTheSpaceLessThatOfTheRank) {
  std::vector<double> others;
  for (int i = 1; i < 1024; ++i) others.push_back(-i);
  const Exposure first = ExposureOf(-0.5, others, 1024, true);
  EXPECT_EQ(first.rank, 1);
  EXPECT_EQ(first.ranked, 1024);
  EXPECT_NEAR(first.by_rank, 10, 1e-12);
  const Exposure eighth = ExposureOf(-7.5, others, 1024, true);
  EXPECT_EQ(eighth.rank, 8);
  EXPECT_NEAR(eighth.by_rank, 7, 1e-12);
  const Exposure last = ExposureOf(-5000, others, 1024, true);
  EXPECT_NEAR(last.by_rank, 0, 1e-12);
  // Equals are as likely: a tie helps nobody who ranks.
  EXPECT_EQ(ExposureOf(-1, others, 1024, true).rank, 2);
}

// Normal log perplexities of mean 20 and deviation 2: at 8 the truth is -log2 Phi(-6) = 29.9.
TEST(ExposureTest, ExtrapolationSeesBeyondTheSample) {
  const auto random = base::MakeSeededRandomSource(5);
  std::vector<double> others;
  for (int i = 0; i < 4000; ++i) {
    const double radius = std::sqrt(-2 * std::log(DrawUnit(*random)));
    others.push_back(-20 - 2 * radius * std::cos(2 * M_PI * DrawUnit(*random)));
  }
  const Exposure exposure = ExposureOf(-8, others, 1e12, false);
  EXPECT_NEAR(exposure.by_rank, std::log2(4001.0), 1e-12);
  EXPECT_NEAR(exposure.by_skew_normal, 29.9, 6);
  EXPECT_LT(exposure.fit_distance, 0.03);
  const Exposure middle = ExposureOf(-20, others, 1e12, false);
  EXPECT_NEAR(middle.by_rank, 1, 0.1);
  EXPECT_NEAR(middle.by_skew_normal, 1, 0.1);
}

TEST(ExposureTest, WithoutSpreadThereIsNothingToFit) {
  const std::vector<double> others(100, -3.0);
  const Exposure exposure = ExposureOf(-3, others, 101, true);
  EXPECT_EQ(exposure.by_rank, 0);
  EXPECT_TRUE(std::isnan(exposure.by_skew_normal));
}

struct Measured {
  Exposure reciting;
  Exposure ignorant;
};
Measured Measure(const PlantedCode& planted, const ExposureOptions& options) {
  RecitingPredictor predictor(3);
  const auto reciting = MakeRowLaw(2);
  const auto ignorant = MakeRowLaw(1);
  TokenLaw* const laws[] = {reciting.get(), ignorant.get()};
  const auto random = base::MakeSeededRandomSource(1);
  std::int64_t scored = 0;
  const auto exposures = MeasureExposure(predictor, laws, DigitTokenizer(), planted, options,
                                         *random, [&] { ++scored; });
  EXPECT_EQ(scored, *CodesToScore(std::span(&planted, 1), options));
  return {(*exposures)[0], (*exposures)[1]};
}

TEST(ExposureTest, SmallSpacesAreRankedInFull) {
  const Measured planted = Measure({"00", "314"}, {});
  EXPECT_TRUE(planted.reciting.is_enumerated);
  EXPECT_EQ(planted.reciting.ranked, 1000);
  EXPECT_NEAR(planted.reciting.by_rank, std::log2(1000.0), 1e-12);
  EXPECT_NEAR(planted.reciting.log_probability, -3 * std::log1p(10 * std::exp(-3.0)), 1e-6);
  EXPECT_NEAR(planted.ignorant.by_rank, 0, 1e-12);
  // Two digits right and one wrong: 27 codes do as well, and the right one better.
  const Measured near = Measure({"00", "315"}, {});
  EXPECT_NEAR(near.reciting.by_rank, std::log2(1000.0 / 28), 1e-12);
}

TEST(ExposureTest, LargeSpacesAreSampled) {
  ExposureOptions options;
  options.samples = 300;
  const Measured planted = Measure({"00", "3141593141593141"}, options);
  EXPECT_FALSE(planted.reciting.is_enumerated);
  EXPECT_EQ(planted.reciting.codes, 1e16);
  EXPECT_EQ(planted.reciting.ranked, 301);
  EXPECT_NEAR(planted.reciting.by_rank, std::log2(301.0), 1e-12);
  EXPECT_GT(planted.reciting.by_skew_normal, 20);
}

}  // namespace exposure_test
}  // namespace submix::eval
