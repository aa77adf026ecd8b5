#include "submix/accounting/random_stopping_cost.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "submix/divergence/renyi_divergence.h"

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;

RandomStoppingSettings PaperExample(double expansion) { return {1000, expansion, 26.9, 37.5}; }

// The paper's epsilon column: 8.9, 11.21, 13.51.
TEST(RandomStoppingCostTest, ReproducesThePapersEpsilons) {
  EXPECT_NEAR(RandomStoppingEpsilonAsPublished(2, PaperExample(1)), 8.9, 0.05);
  EXPECT_NEAR(RandomStoppingEpsilonAsPublished(2, PaperExample(10)), 11.21, 0.005);
  EXPECT_NEAR(RandomStoppingEpsilonAsPublished(2, PaperExample(100)), 13.51, 0.01);
}

// What the formula gives; the paper prints 31.3, 27.78 and 26.988.
TEST(RandomStoppingCostTest, ThePapersPerplexitiesAreNotItsFormulas) {
  EXPECT_NEAR(RandomStoppingPerplexityAsPublished(PaperExample(1)), 32.2, 1e-12);
  EXPECT_NEAR(RandomStoppingPerplexityAsPublished(PaperExample(10)), 27.43, 1e-12);
  EXPECT_NEAR(RandomStoppingPerplexityAsPublished(PaperExample(100)), 26.953, 1e-12);
}

TEST(RandomStoppingCostTest, ThePerplexityIsTheMeanOverAllStops) {
  for (const double expansion : {0.6, 1.0, 2.0, 7.0}) {
    const RandomStoppingSettings settings = {10, expansion, 20, 50};
    const int horizon = static_cast<int>(std::round(10 * expansion));
    double sum = 0;
    for (int stop = 1; stop <= horizon; ++stop) {
      for (int answer = 1; answer <= 10; ++answer) sum += answer < stop ? 20 : 50;
    }
    EXPECT_NEAR(RandomStoppingPerplexity(settings), sum / (10 * horizon), 1e-12);
  }
  // (B + 1) / (2 C B) against 1 / (2 C).
  EXPECT_NEAR(RandomStoppingPerplexity(PaperExample(10)), 26.9 + 10.6 * 1001 / 20000, 1e-12);
}

// Why part (1) is not proven: a protocol that stops at 1 against one that stops at 4, tau uniform
// on {1 … 4}. The price says log 4 at every order.
TEST(RandomStoppingCostTest, APrivateStopHasInfiniteDivergence) {
  const std::vector<double> stops_at_1 = {1, 0, 0, 0};
  const std::vector<double> stops_at_4 = {0.25, 0.25, 0.25, 0.25};
  for (const char* text : {"1", "1.5", "2", "18", "inf"}) {
    const RenyiOrder order = RenyiOrder::Parse(text).value();
    EXPECT_NEAR(divergence::RenyiDivergence(stops_at_1, stops_at_4, order), std::log(4.0), 1e-12);
    EXPECT_EQ(divergence::RenyiDivergence(stops_at_4, stops_at_1, order),
              std::numeric_limits<double>::infinity());
  }
}

}  // namespace
}  // namespace submix::accounting
