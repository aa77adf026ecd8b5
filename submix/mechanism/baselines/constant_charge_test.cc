#include "submix/mechanism/baselines/constant_charge.h"

#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"

namespace submix::mechanism {
namespace constant_charge_test {

using accounting::FixedNats;
using divergence::RenyiOrder;

TEST(ConstantChargeTest, CountsTheTokensThatABudgetPaysFor) {
  const FixedNats tenth = FixedNats::RoundDown(.125);
  EXPECT_EQ(MostTokens(FixedNats::RoundDown(2), tenth), 16);
  EXPECT_EQ(MostTokens(FixedNats::RoundDown(1.999), tenth), 15);
  EXPECT_EQ(MostTokens(FixedNats::RoundDown(.1), tenth), 0);
  EXPECT_DEATH(MostTokens(tenth, FixedNats()), "free tokens");
}

TEST(ConstantChargeTest, StatesEveryOrderAtOnceAndTheMostAnswers) {
  const auto statement = ConstantChargeStatement(
      "test", RenyiOrder::Two(), FixedNats::RoundDown(2), FixedNats::RoundDown(.125),
      "theorem of tests", [](RenyiOrder order) { return .01 * order.value(); });
  EXPECT_TRUE(statement.worst_case && statement.proven);
  EXPECT_EQ(statement.epsilon, FixedNats::RoundDown(2));
  for (const auto& bound : statement.further_bounds) {
    if (bound.order.is_infinite()) continue;
    EXPECT_NEAR(bound.rdp, 16 * .01 * bound.order.value(), 1e-10 * bound.order.value());
    EXPECT_GE(bound.rdp, 16 * (.01 * bound.order.value()));
  }
  EXPECT_THAT(statement.Labels(), testing::HasSubstr("theorem of tests; at most 16 tokens"));
  const auto user = accounting::UserLevelStatement(statement);
  ASSERT_TRUE(user.has_value());
  EXPECT_THAT(user->Labels(), testing::HasSubstr("unit: user key"));
  EXPECT_THAT(user->Labels(), testing::HasSubstr("theorem of tests; at most 16 tokens"));
}

}  // namespace constant_charge_test
}  // namespace submix::mechanism
