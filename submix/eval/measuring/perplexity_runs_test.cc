#include "submix/eval/measuring/perplexity_runs.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace submix::eval {
namespace perplexity_runs_test {

TEST(PerplexityRunsTest, SpreadIsTheSamplesStandardDeviation) {
  EXPECT_NEAR((PerplexityRuns{{2, 4, 4, 4, 5, 5, 7, 9}}).deviation(), std::sqrt(32.0 / 7), 1e-12);
  EXPECT_TRUE(std::isnan(PerplexityRuns{{2}}.deviation()));
}

TEST(KeptTest, IsTheShareOfTheGainWithAnIntervalOverRuns) {
  const PerplexityRuns open{{100, 120, 110}};
  const PerplexityRuns tuned{{50, 60, 55}};
  const PerplexityRuns half{{75, 90, 82.5}};
  const KeptShare kept = Kept(open, half, tuned);
  EXPECT_NEAR(kept.value, 0.5, 1e-12);
  EXPECT_NEAR(kept.low, 0.5, 1e-9);
  EXPECT_NEAR(kept.high, 0.5, 1e-9);
  const KeptShare uneven = Kept(open, {{80, 85, 95}}, tuned);
  EXPECT_LT(uneven.low, uneven.value);
  EXPECT_GT(uneven.high, uneven.value);
}

TEST(KeptTest, NothingGainedIsNoShare) {
  const PerplexityRuns open{{100, 120}};
  EXPECT_TRUE(std::isnan(Kept(open, {{90, 90}}, {{101, 121}}).value));
  EXPECT_TRUE(std::isnan(Kept(open, {{90, 90}}, open).value));
  const KeptShare by_luck = Kept(open, {{90, 90}}, {{101, 60}});
  EXPECT_GT(by_luck.value, 0);
  EXPECT_EQ(by_luck.low, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(by_luck.high, std::numeric_limits<double>::infinity());
}

}  // namespace perplexity_runs_test
}  // namespace submix::eval
