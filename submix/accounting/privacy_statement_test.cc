#include "submix/accounting/privacy_statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/divergence/bounded_range.h"

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

PrivacyStatement FilteredSubmix() {
  PrivacyStatement statement;
  statement.mechanism = "filtered-submix";
  statement.order = RenyiOrder::Two();
  statement.epsilon = FixedNats::RoundDown(2);
  statement.worst_case = true;
  statement.proven = true;
  statement.proof = "docs/privacy.md, Theorem 1";
  return statement;
}

TEST(PrivacyStatementTest, SaysWhatThePapersHeadlineMeans) {
  const std::string part_labels =
      " [unit: part; adjacency: replaced by the public model; worst case: holds for every data "
      "set; proven: docs/privacy.md, Theorem 1]";
  const std::string user_labels =
      " [unit: user key; adjacency: records changed, added or removed; worst case: holds for "
      "every data set; proven: docs/privacy.md, Theorem 1]";
  EXPECT_THAT(
      FilteredSubmix().Lines(),
      ElementsAre("mechanism: filtered-submix",
                  "2 nats of Renyi divergence at order 2, in both directions, over all answers "
                  "together" +
                      part_labels,
                  "(12.13, 1e-05)-differential privacy, improved conversion from order 2, the "
                  "only order that binds" +
                      part_labels,
                  "6 nats of Renyi divergence at order 1.33333, in both directions, over all "
                  "answers together" +
                      user_labels,
                  "(38.29, 1e-05)-differential privacy, improved conversion from order 1.33333, "
                  "the only order that binds" +
                      user_labels));
}

TEST(PrivacyStatementTest, EveryNumberCarriesAllItsLabels) {
  for (const std::string& line : FilteredSubmix().Lines()) {
    if (line.find_first_of("0123456789") == std::string::npos) continue;
    EXPECT_THAT(line, AllOf(HasSubstr("unit: "), HasSubstr("adjacency: "), HasSubstr("order"),
                            HasSubstr("worst case"), HasSubstr("proven: ")));
  }
}

TEST(PrivacyStatementTest, ResearchRulesSaySoAndPromiseUsersNothing) {
  PrivacyStatement statement = FilteredSubmix();
  statement.mechanism = "submix";
  statement.worst_case = false;
  statement.proven = false;
  statement.proof = "research: the stopping time is not covered";
  const std::vector<std::string> lines = statement.Lines();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_THAT(lines[1], HasSubstr("data-dependent: for this data only, and private itself; NOT "
                                  "proven: research: the stopping time is not covered]"));
  EXPECT_THAT(lines[3], HasSubstr("for one user key nothing follows"));
}

TEST(PrivacyStatementTest, AWorstCaseThatIsNotProvenPromisesUsersNothing) {
  PrivacyStatement statement = FilteredSubmix();
  statement.proven = false;
  EXPECT_THAT(statement.ToText(), AllOf(HasSubstr("nothing follows"), Not(HasSubstr("38.29"))));
  EXPECT_THAT(statement.ToText(), AllOf(HasSubstr("worst case, as its authors claim; NOT proven"),
                                        Not(HasSubstr("holds for every data set"))));
}

TEST(PrivacyStatementTest, BoundsAtManyOrdersConvertAtTheBest) {
  // Theorem 6: C / (k tau) = .04375, T = 1024 answers; users: the range doubles.
  constexpr int kAnswers = 1024;
  constexpr double kRange = 2 * 0.04375;
  PrivacyStatement statement = FilteredSubmix();
  statement.mechanism = "dclip";
  statement.epsilon =
      FixedNats::RoundUp(kAnswers * divergence::BoundedRangeDivergence(kRange, RenyiOrder::Two()));
  EXPECT_THAT(statement.Lines()[2], StartsWith("(12.09"));
  for (double order = 1.5; order < 20; order += 0.01) {
    const RenyiOrder at = RenyiOrder::Create(order).value();
    statement.further_bounds.push_back(
        {at, kAnswers * divergence::BoundedRangeDivergence(kRange, at)});
    statement.user_level_bounds.push_back(
        {at, kAnswers * divergence::BoundedRangeDivergence(2 * kRange, at)});
  }
  const std::vector<std::string> lines = statement.Lines();
  EXPECT_THAT(lines[2],
              AllOf(StartsWith("(6.988, "), HasSubstr("from order 4.21, the best [unit: part")));
  EXPECT_THAT(lines[4], AllOf(StartsWith("(16.28, "), HasSubstr("the best [unit: user key")));
}

TEST(PrivacyStatementTest, OrderInfinityIsPurePrivacyAndDoublesForUsers) {
  PrivacyStatement statement = FilteredSubmix();
  statement.order = RenyiOrder::Infinity();
  const std::vector<std::string> lines = statement.Lines();
  EXPECT_THAT(lines[1], StartsWith("2 nats of Renyi divergence at order inf"));
  EXPECT_THAT(lines[2], StartsWith("(2, 1e-05)"));
  EXPECT_THAT(lines[3], StartsWith("4 nats of Renyi divergence at order inf"));
}

TEST(PrivacyStatementTest, OrderOneHasNeitherConversionNorUserLevel) {
  PrivacyStatement statement = FilteredSubmix();
  statement.order = RenyiOrder::One();
  const std::vector<std::string> lines = statement.Lines();
  EXPECT_THAT(lines[2], HasSubstr("no (epsilon, delta) follows"));
  EXPECT_THAT(lines[3], HasSubstr("nothing follows from orders of 1 and below"));
}

TEST(PrivacyStatementTest, AReplacedPartCoversItsUsersAtTheSameNumbers) {
  PrivacyStatement statement = FilteredSubmix();
  statement.adjacency = Adjacency::kReplace;
  EXPECT_THAT(statement.Lines()[3],
              AllOf(StartsWith("2 nats of Renyi divergence at order 2"), HasSubstr("user key")));
}

TEST(PrivacyStatementTest, AUserLevelStatementIsNotRepeated) {
  PrivacyStatement statement = FilteredSubmix();
  statement.unit = PrivacyUnit::kUserKey;
  statement.adjacency = Adjacency::kReplace;
  EXPECT_EQ(statement.Lines().size(), 3u);
}

TEST(PrivacyStatementTest, UnitsWithoutPartsSaySo) {
  PrivacyStatement statement = FilteredSubmix();
  statement.unit = PrivacyUnit::kTrainingExample;
  statement.adjacency = Adjacency::kPresence;
  EXPECT_THAT(statement.Labels(),
              StartsWith("unit: training example; adjacency: present or absent;"));
  EXPECT_EQ(statement.Lines().size(), 3u);
}

TEST(PrivacyStatementTest, ShownCostsAreRoundedUp) {
  PrivacyStatement statement = FilteredSubmix();
  statement.epsilon = FixedNats::RoundUp(0.123401);
  EXPECT_THAT(statement.Lines()[1], StartsWith("0.1235 nats"));
  statement.epsilon = FixedNats();
  EXPECT_THAT(statement.Lines()[1], StartsWith("0 nats"));
  statement.epsilon = FixedNats::Unpayable();
  EXPECT_THAT(statement.Lines()[1], StartsWith("inf nats"));
}

}  // namespace
}  // namespace submix::accounting
