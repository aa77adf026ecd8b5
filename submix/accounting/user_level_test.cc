#include "submix/accounting/user_level.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include "submix/accounting/rdp_conversion.h"
#include "submix/base/testing/status_matchers.h"

namespace submix::accounting {
namespace user_level_test {

using base::StatusCode;
using base::StatusIs;
using divergence::RenyiOrder;
using ::testing::HasSubstr;

RenyiOrder Order(double value) { return RenyiOrder::Create(value).value(); }

TEST(UserLevelTest, AgreesWithHighPrecision) {
  std::ifstream table(SUBMIX_TESTDATA_DIR "/accounting/user_level.txt");
  ASSERT_TRUE(table.is_open());
  int compared = 0;
  for (double part_order = 0, user_order = 0, factor = 0;
       table >> part_order >> user_order >> factor; ++compared) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const UserLevelFactor user,
                                UserLevelFromPartOrder(Order(part_order)));
    EXPECT_NEAR(user.order.value() / user_order, 1, 1e-14) << part_order;
    EXPECT_NEAR(user.factor / factor, 1, 1e-12) << part_order;
  }
  EXPECT_EQ(compared, 8);
}

TEST(UserLevelTest, OrderInfinityDoubles) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const UserLevelFactor user,
                              UserLevelFromPartOrder(RenyiOrder::Infinity()));
  EXPECT_TRUE(user.order.is_infinite());
  EXPECT_EQ(user.factor, 2);
}

TEST(UserLevelTest, ThePapersOrderGivesFourThirdsAndThreefold) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const UserLevelFactor user,
                              UserLevelFromPartOrder(RenyiOrder::Two()));
  EXPECT_DOUBLE_EQ(user.order.value(), 4.0 / 3);
  EXPECT_DOUBLE_EQ(user.factor, 3);
}

// Theorem 5: user-level epsilon at delta = 1e-5 of (order, budget).
TEST(UserLevelTest, AgreesWithTheProofsPageAfterConversion) {
  struct Case {
    double order, budget, epsilon;
  };
  for (const Case& c : {Case{2, 2, 38.3}, {8, 2, 7.10}, {8, 1, 4.96}, {16, 2, 5.30}}) {
    const UserLevelFactor user = UserLevelFromPartOrder(Order(c.order)).value();
    const RdpBound bound = {user.order, user.factor * c.budget};
    EXPECT_NEAR(EpsilonForDelta(bound, 1e-5, ConversionKind::kImproved).value(), c.epsilon,
                c.epsilon > 10 ? 0.05 : 0.005);
  }
}

TEST(UserLevelTest, TheOrderToDeclareLeadsBackToTheOrderWanted) {
  for (const double target : {1.01, 4.0 / 3, 2.0, 8.0, 512.0}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const RenyiOrder part_order, PartOrderForUserOrder(Order(target)));
    const UserLevelFactor user = UserLevelFromPartOrder(part_order).value();
    EXPECT_NEAR(user.order.value(), target, 1e-13 * target);
    EXPECT_NEAR(user.factor, 1 + std::sqrt(target / (target - 1)), 1e-11);
  }
  EXPECT_NEAR(PartOrderForUserOrder(RenyiOrder::Two()).value().value(), 3.4142135623731, 1e-13);
  EXPECT_TRUE(PartOrderForUserOrder(RenyiOrder::Infinity()).value().is_infinite());
  EXPECT_TRUE(PartOrderForUserOrder(Order(1e300)).ok());
}

// The paper's statement, with its condition a0 > 2: order a0 / 2, factor (2 a0 - 3) / (a0 - 2).
TEST(UserLevelTest, TheoremC1IsCoveredByTheBetterBound) {
  for (const double order : {2.001, 3.0, 4.0, 8.0, 64.0}) {
    const UserLevelFactor ours = UserLevelFromPartOrder(Order(order)).value();
    EXPECT_GT(ours.order.value(), order / 2);
    EXPECT_LT(ours.factor, (2 * order - 3) / (order - 2));
  }
}

TEST(UserLevelTest, NothingFollowsFromOrderOneAndBelow) {
  for (const double order : {1.0, 0.5}) {
    EXPECT_THAT(UserLevelFromPartOrder(Order(order)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("above 1")));
    EXPECT_THAT(PartOrderForUserOrder(Order(order)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("above 1")));
  }
}

}  // namespace user_level_test
}  // namespace submix::accounting
