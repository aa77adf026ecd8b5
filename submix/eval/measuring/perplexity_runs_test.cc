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

// One run, and users whose text has these perplexities.
PerplexityRuns OfUsers(const std::vector<double>& perplexities) {
  PerplexityRuns result;
  double nats = 0;
  for (std::size_t i = 0; i < perplexities.size(); ++i) {
    const auto positions = static_cast<std::int64_t>(10 + i);
    AddUserLoss({static_cast<int>(i), positions,
                 static_cast<double>(positions) * std::log(perplexities[i])},
                result.users);
    nats += std::log(perplexities[i]) / static_cast<double>(perplexities.size());
  }
  result.runs = {std::exp(nats)};
  return result;
}

TEST(UserLossTest, AUsersLossesAddUp) {
  std::vector<UserLoss> users;
  AddUserLoss({3, 1, 0.5}, users);
  AddUserLoss({3, 2, 1.5}, users);
  AddUserLoss({4, 1, 0.25}, users);
  EXPECT_EQ(users, (std::vector<UserLoss>{{3, 3, 2.0}, {4, 1, 0.25}}));
  RunLosses run;
  for (const double loss : {0.5, 1.5, 4.0}) run.Add({loss, loss < 1}, loss > 2 ? 1 : 0);
  EXPECT_DOUBLE_EQ(run.Accuracy(), 1.0 / 3);
  EXPECT_EQ(run.users(), (std::vector<UserLoss>{{0, 2, 2.0}, {1, 1, 4.0}}));
  EXPECT_DOUBLE_EQ(run.Perplexity(), std::exp(2.0));
}

TEST(KeptTest, IsTheShareOfTheGainWithAnIntervalOverUsers) {
  const PerplexityRuns open = OfUsers({100, 100, 100});
  const PerplexityRuns tuned = OfUsers({50, 50, 50});
  const KeptShare kept = Kept(open, OfUsers({75, 75, 75}), tuned);
  EXPECT_NEAR(kept.value, 0.5, 1e-12);
  EXPECT_NEAR(kept.low, 0.5, 1e-9);
  EXPECT_NEAR(kept.high, 0.5, 1e-9);
  // Users of whom more or less is kept: a resample may hold the best or the worst alone.
  const KeptShare uneven = Kept(open, OfUsers({60, 75, 90}), tuned);
  EXPECT_NEAR(uneven.low, 0.2, 1e-9);
  EXPECT_NEAR(uneven.high, 0.8, 1e-9);
}

TEST(KeptTest, OneUserHasNoInterval) {
  const KeptShare kept = Kept(OfUsers({100}), OfUsers({75}), OfUsers({50}));
  EXPECT_NEAR(kept.value, 0.5, 1e-12);
  EXPECT_EQ(kept.low, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(kept.high, std::numeric_limits<double>::infinity());
}

TEST(KeptTest, NothingGainedIsNoShare) {
  const PerplexityRuns open = OfUsers({100, 120});
  EXPECT_TRUE(std::isnan(Kept(open, OfUsers({90, 90}), OfUsers({101, 121})).value));
  EXPECT_TRUE(std::isnan(Kept(open, OfUsers({90, 90}), open).value));
  const KeptShare by_luck = Kept(open, OfUsers({90, 90}), OfUsers({101, 60}));
  EXPECT_GT(by_luck.value, 0);
  EXPECT_EQ(by_luck.low, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(by_luck.high, std::numeric_limits<double>::infinity());
}

}  // namespace perplexity_runs_test
}  // namespace submix::eval
