#include "submix/accounting/privacy_statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace submix::accounting {
namespace privacy_statement_test {

using divergence::RenyiOrder;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

PrivacyStatement FilteredSubmix() {
  return PartLevelStatement("filtered-submix", RenyiOrder::Two(), FixedNats::RoundDown(2),
                            "docs/privacy.md, Theorem 1");
}

TEST(PrivacyStatementTest, LabelsSayUnitAdjacencyScopeAndProof) {
  EXPECT_EQ(FilteredSubmix().Labels(),
            "unit: part; adjacency: replaced by the public model; worst case: holds for every data "
            "set; proven: docs/privacy.md, Theorem 1");
  const auto user = UserLevelStatement(FilteredSubmix());
  ASSERT_TRUE(user.has_value());
  EXPECT_EQ(user->Labels(),
            "unit: user key; adjacency: records changed, added or removed; worst case: holds for "
            "every data set; proven: docs/privacy.md, Theorem 1; from part to user key: Theorem 5");
}

TEST(PrivacyStatementTest, ResearchRulesSaySoAndPromiseUsersNothing) {
  const PrivacyStatement statement = ResearchStatement(
      "submix", RenyiOrder::Two(), FixedNats::RoundDown(2), "the stopping time is not covered");
  EXPECT_THAT(statement.Labels(),
              EndsWith("data-dependent: for this data only, and private itself; NOT proven: "
                       "research: the stopping time is not covered"));
  EXPECT_FALSE(UserLevelStatement(statement).has_value());
}

TEST(PrivacyStatementTest, AWorstCaseThatIsNotProvenPromisesUsersNothing) {
  PrivacyStatement statement = FilteredSubmix();
  statement.proven = false;
  EXPECT_FALSE(UserLevelStatement(statement).has_value());
  EXPECT_THAT(statement.Labels(), AllOf(HasSubstr("worst case, as its authors claim; NOT proven"),
                                        Not(HasSubstr("holds for every data set"))));
}

TEST(PrivacyStatementTest, UserLevelBoundsFollowByTheorem5) {
  const auto user = UserLevelStatement(FilteredSubmix());
  ASSERT_TRUE(user.has_value());
  EXPECT_DOUBLE_EQ(user->order.value(), 4.0 / 3);
  EXPECT_NEAR(user->epsilon.ToNatsRoundedUp(), 6, 1e-14);
  EXPECT_TRUE(user->further_bounds.empty());
}

// Emptied, the one user of a part leaves the part null: no factor, at any order.
TEST(PrivacyStatementTest, OneUserAPartOfAPublicListHasThePartsBounds) {
  PrivacyStatement statement = FilteredSubmix();
  statement.public_keys = true;
  statement.further_bounds = {{RenyiOrder::One(), 1}};
  statement.user_level_bounds = {{RenyiOrder::Two(), 7}};
  const auto user = UserLevelStatement(statement);
  ASSERT_TRUE(user.has_value());
  EXPECT_EQ(user->order, RenyiOrder::Two());
  EXPECT_EQ(user->epsilon, statement.epsilon);
  ASSERT_EQ(user->further_bounds.size(), 1u);
  EXPECT_EQ(user->further_bounds[0].rdp, 1);
  EXPECT_THAT(
      user->Labels(),
      AllOf(StartsWith("unit: user key; adjacency: records emptied; that the user is on the "
                       "list is public;"),
            EndsWith("from part to user key: one user a part (Public keys)"),
            Not(HasSubstr("Theorem 5"))));
  statement.order = RenyiOrder::One();
  EXPECT_TRUE(UserLevelStatement(statement).has_value());
  statement.proven = false;
  EXPECT_FALSE(UserLevelStatement(statement).has_value());
}

TEST(PrivacyStatementTest, OrderOneHasNoUserLevel) {
  PrivacyStatement statement = FilteredSubmix();
  statement.order = RenyiOrder::One();
  EXPECT_FALSE(UserLevelStatement(statement).has_value());
}

TEST(PrivacyStatementTest, UnitsWithoutPartsSaySo) {
  PrivacyStatement statement = FilteredSubmix();
  statement.unit = PrivacyUnit::kTrainingExample;
  statement.adjacency = Adjacency::kPresence;
  EXPECT_THAT(statement.Labels(),
              StartsWith("unit: training example; adjacency: present or absent;"));
}

TEST(PrivacyStatementTest, ShownCostsAreRoundedUp) {
  EXPECT_EQ(FormatCost(0.123401), "0.1235");
  EXPECT_EQ(FormatCost(3 * 2.0), "6");
  EXPECT_EQ(FormatCost(0.1 + 0.2), "0.3");
  EXPECT_EQ(FormatCost(6 * (1 + 1e-10)), "6.001");
  EXPECT_EQ(FormatCost(0), "0");
  EXPECT_EQ(FormatCost(FixedNats::Unpayable().ToNatsRoundedUp()), "inf");
}

TEST(PrivacyStatementTest, ShownAllowancesAreRoundedDown) {
  EXPECT_EQ(FormatAllowance(6.45695), "6.456");
  EXPECT_EQ(FormatAllowance(0.1 + 0.2), "0.3");
  EXPECT_EQ(FormatAllowance(0), "0");
}

TEST(PrivacyStatementTest, ShownOrdersAreRoundedDown) {
  EXPECT_EQ(FormatOrder(RenyiOrder::Create(5.0 / 3).value()), "1.666");
  EXPECT_EQ(FormatOrder(RenyiOrder::Create(4.21).value()), "4.21");
  EXPECT_EQ(FormatOrder(RenyiOrder::Create(1024).value()), "1024");
  EXPECT_EQ(FormatOrder(RenyiOrder::Two()), "2");
  EXPECT_EQ(FormatOrder(RenyiOrder::Infinity()), "inf");
}

}  // namespace privacy_statement_test
}  // namespace submix::accounting
