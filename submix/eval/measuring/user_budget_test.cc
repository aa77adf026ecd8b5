#include "submix/eval/measuring/user_budget.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/accounting/privacy_statement.h"
#include "submix/accounting/user_level.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::eval {
namespace user_budget_test {

using base::StatusCode;
using base::StatusIs;
using divergence::RenyiOrder;

EvaluationSetting Asked(const char* name) {
  EvaluationSetting setting;
  setting.mechanism.name = name;
  setting.mechanism.num_parts = 16;
  setting.queries = 1024;
  return setting;
}

std::vector<accounting::RdpBound> UserBounds(const EvaluationSetting& setting) {
  const auto mechanism = mechanism::MakeAnyMechanism(setting.mechanism).value();
  return accounting::StatedUserLevelBounds(
      mechanism->Statement(accounting::FixedNats::RoundDown(setting.epsilon)));
}

// Theorem 5: order a0 = a + sqrt(a^2 - a), the next whole one, and a factor of
// (2 a0 - 1) / (a0 - 1).
TEST(UserBudgetTest, AFilterDeclaresTheOrderAndTheShareOfTheoremSix) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationSetting kept,
                              KeepUserPromise(Asked("filtered-submix"), {.epsilon = 2}));
  EXPECT_EQ(kept.mechanism.order.value(), 4);
  EXPECT_NEAR(kept.epsilon, 2 * 3.0 / 7, 1e-9);
  EXPECT_NEAR(kept.mechanism.target_leakage, kept.epsilon / 1024, 1e-15);
  const auto bounds = UserBounds(kept);
  EXPECT_NEAR(bounds.front().order.value(), 16.0 / 7, 1e-12);
  EXPECT_LE(bounds.front().rdp, 2);
}

// dclip's range doubles for users, so its cost grows about fourfold.
TEST(UserBudgetTest, DclipKeepsItsOrder) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationSetting kept,
                              KeepUserPromise(Asked("dclip"), {.epsilon = 2}));
  EXPECT_EQ(kept.mechanism.order.value(), 2);
  EXPECT_GT(kept.epsilon, 0.45);
  EXPECT_LT(kept.epsilon, 0.55);
  EXPECT_LE(UserBounds(kept).front().rdp, 2);
}

TEST(UserBudgetTest, APromiseWithADeltaIsKept) {
  for (const char* name : {"filtered-submix", "dclip"}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationSetting kept,
                                KeepUserPromise(Asked(name), {.epsilon = 8, .delta = 1e-5}));
    const auto best =
        accounting::BestEpsilon(UserBounds(kept), 1e-5, accounting::ConversionKind::kImproved);
    ASSERT_TRUE(best.ok());
    EXPECT_LE(best->epsilon, 8);
    EXPECT_GT(best->epsilon, 7.9) << name;
  }
}

TEST(UserBudgetTest, NothingFollowsFromResearchAndFromNothing) {
  EXPECT_THAT(KeepUserPromise(Asked("adapmixed"), {}).status().code(),
              testing::AnyOf(StatusCode::kFailedPrecondition, StatusCode::kInvalidArgument));
  EvaluationSetting pairs = Asked("submix");
  EXPECT_THAT(KeepUserPromise(pairs, {}), StatusIs(StatusCode::kFailedPrecondition, testing::_));
  EXPECT_THAT(KeepUserPromise(Asked("dclip"), {.epsilon = 1e-9}),
              StatusIs(StatusCode::kInvalidArgument, testing::HasSubstr("no budget")));
}

}  // namespace user_budget_test
}  // namespace submix::eval
