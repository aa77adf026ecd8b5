#include "submix/accounting/promise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/text_table.h"
#include "submix/divergence/bounded_range.h"

namespace submix::accounting {
namespace promise_test {

using divergence::RenyiOrder;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// At the papers' delta.
PrivacyStatement FilteredSubmix() {
  PrivacyStatement statement = PartLevelStatement(
      "filtered-submix", RenyiOrder::Two(), FixedNats::RoundDown(2), "docs/privacy.md, Theorem 1");
  statement.delta = 1e-5;
  return statement;
}

std::vector<std::string> Cells(const Promise& promise, const std::string& label) {
  for (const PromiseRow& row : promise.rows) {
    if (row.label == label) return row.cells;
  }
  return {};
}

TEST(PromiseTest, SaysWhatThePapersHeadlineMeans) {
  EXPECT_EQ(PromiseOf(FilteredSubmix()).ToText(),
            R"(Whatever anybody asks, all answers together are (38.29, 1e-05)-differentially
private for one user's text. That is weak: an epsilon above 10 excludes hardly
anything.

                  one user                        one part
(epsilon, delta)  (38.29, 1e-05), from order      (12.13, 1e-05), from order 2
                  1.333
Renyi divergence  6 nats at order 1.333, both     2 nats at order 2, both ways
                  ways
unit              all text of one user key        all text of the users in one
                                                  part
neighbours        records changed, added or       replaced by the public model
                  removed
counted over      all answers together            all answers together
holds for         every data set                  every data set
proof             proven: docs/privacy.md,        proven: docs/privacy.md,
                  Theorem 1; from part to user    Theorem 1
                  key: Theorem 5
mechanism         filtered-submix                 filtered-submix
)");
}

// Contract 9: whoever has a number has all that must be said with it.
TEST(PromiseTest, EveryColumnWithANumberSaysAllThatMustBeSaidWithIt) {
  PrivacyStatement research = FilteredSubmix();
  research.worst_case = research.proven = false;
  PrivacyStatement of_documents = FilteredSubmix();
  of_documents.unit = PrivacyUnit::kTrainingExample;
  for (const PrivacyStatement& statement : {FilteredSubmix(), research, of_documents}) {
    const Promise promise = PromiseOf(statement);
    EXPECT_THAT(promise.rows, SizeIs(8));
    for (std::size_t c = 0; c < promise.columns.size(); ++c) {
      if (promise.rows.front().cells[c].find_first_of("0123456789") == std::string::npos) continue;
      for (const PromiseRow& row : promise.rows) {
        EXPECT_THAT(row.cells[c], AllOf(Not(""), Not("-"))) << row.label;
      }
    }
    EXPECT_THAT(Cells(promise, "Renyi divergence").back(), HasSubstr("at order 2"));
  }
}

TEST(PromiseTest, LinesStayNarrow) {
  PrivacyStatement research = ResearchStatement(
      "submix", RenyiOrder::Two(), FixedNats::RoundDown(2),
      "a part's charge is exact for this ensemble only, and so depends on the other parts; the "
      "stop is decided by private ledgers and is not paid for");
  for (const std::string& line : PromiseOf(research).Lines()) {
    EXPECT_THAT(line, SizeIs(testing::Le(base::kTerminalWidth)));
  }
}

TEST(PromiseTest, ResearchRulesSaySoAndPromiseUsersNothing) {
  const Promise promise = PromiseOf(ResearchStatement(
      "submix", RenyiOrder::Two(), FixedNats::RoundDown(2), "the stopping time is not covered"));
  EXPECT_EQ(promise.sentence,
            "Nothing is proven for one user's text: what the table says of one part is research, "
            "and holds for this data only.");
  EXPECT_THAT(
      Cells(promise, "(epsilon, delta)"),
      ElementsAre("nothing follows: that needs a bound for parts, proven for every data set",
                  "(14.43, 1e-06), from order 2"));
  EXPECT_THAT(Cells(promise, "holds for"), ElementsAre("-", "this data only, and private itself"));
  EXPECT_THAT(Cells(promise, "proof"),
              ElementsAre("-", "NOT proven: research: the stopping time is not covered"));
}

TEST(PromiseTest, AWorstCaseThatIsNotProvenPromisesUsersNothing) {
  PrivacyStatement statement = FilteredSubmix();
  statement.proven = false;
  const Promise promise = PromiseOf(statement);
  EXPECT_THAT(promise.ToText(), Not(HasSubstr("38.29")));
  EXPECT_EQ(promise.sentence,
            "Nothing is proven for one user's text: what the table says of one part is its "
            "authors' claim, not proven.");
  EXPECT_THAT(Cells(promise, "holds for"),
              ElementsAre("-", "every data set, as its authors claim"));
  EXPECT_THAT(Cells(promise, "proof").back(), StartsWith("NOT proven: "));
}

TEST(PromiseTest, WhatIsNotPrivatePromisesNothing) {
  PrivacyStatement statement = FilteredSubmix();
  statement.epsilon = FixedNats::Unpayable();
  statement.proven = false;
  const Promise promise = PromiseOf(statement);
  EXPECT_EQ(promise.sentence, "Nothing is promised to anybody: the answers are not private.");
  EXPECT_THAT(Cells(promise, "Renyi divergence").back(), StartsWith("inf nats"));
  EXPECT_THAT(Cells(promise, "holds for"), ElementsAre("-", "no data set"));
}

TEST(PromiseTest, BoundsAtManyOrdersConvertAtTheBest) {
  // Theorem 6: C / (k tau) = .04375, T = 1024 tokens; users: the range doubles.
  constexpr int kAnswers = 1024;
  constexpr double kRange = 2 * 0.04375;
  PrivacyStatement statement = FilteredSubmix();
  statement.mechanism = "dclip";
  statement.epsilon =
      FixedNats::RoundUp(kAnswers * divergence::BoundedRangeDivergence(kRange, RenyiOrder::Two()));
  EXPECT_THAT(Cells(PromiseOf(statement), "(epsilon, delta)").back(), StartsWith("(12.09"));
  for (int hundredths = 150; hundredths < 2000; ++hundredths) {
    const RenyiOrder at = RenyiOrder::Create(hundredths / 100.0).value();
    statement.further_bounds.push_back(
        {at, kAnswers * divergence::BoundedRangeDivergence(kRange, at)});
    statement.user_level_bounds.push_back(
        {at, kAnswers * divergence::BoundedRangeDivergence(2 * kRange, at)});
  }
  const Promise promise = PromiseOf(statement);
  const std::vector<std::string> cells = Cells(promise, "(epsilon, delta)");
  EXPECT_EQ(cells[1], "(6.988, 1e-05), from best order 4.21");
  EXPECT_THAT(cells[0], StartsWith("(16.28, 1e-05), from best order "));
  EXPECT_THAT(promise.sentence, HasSubstr(" are (16.28, 1e-05)-differentially private for one "));
  // Proved for users directly, without Theorem 5.
  EXPECT_THAT(Cells(promise, "proof"), Each("proven: docs/privacy.md, Theorem 1"));
}

TEST(PromiseTest, OrderInfinityIsPurePrivacyAndDoublesForUsers) {
  PrivacyStatement statement = FilteredSubmix();
  statement.order = RenyiOrder::Infinity();
  const Promise promise = PromiseOf(statement);
  EXPECT_THAT(Cells(promise, "Renyi divergence"),
              ElementsAre("4 nats at order inf, both ways", "2 nats at order inf, both ways"));
  EXPECT_THAT(Cells(promise, "(epsilon, delta)"),
              ElementsAre("(4, 1e-05), from order inf", "(2, 1e-05), from order inf"));
}

TEST(PromiseTest, OrderOneHasNeitherConversionNorUserLevel) {
  PrivacyStatement statement = FilteredSubmix();
  statement.order = RenyiOrder::One();
  const Promise promise = PromiseOf(statement);
  EXPECT_EQ(promise.sentence,
            "Nothing is promised to one user: nothing follows from orders of 1 and below.");
  EXPECT_THAT(Cells(promise, "(epsilon, delta)"),
              ElementsAre("nothing follows from orders of 1 and below",
                          "none: needs an order of at least 1.01 and a delta in (0, 1)"));
}

TEST(PromiseTest, WithoutAConversionTheDivergenceIsSaid) {
  PrivacyStatement statement = FilteredSubmix();
  statement.order = RenyiOrder::Create(1.05).value();
  EXPECT_EQ(PromiseOf(statement).sentence,
            "Whatever anybody asks, all answers together are private up to 44 nats of Renyi "
            "divergence at order 1.002 for one user's text.");
}

TEST(PromiseTest, AReplacedPartCoversItsUsersAtTheSameNumbers) {
  PrivacyStatement statement = FilteredSubmix();
  statement.adjacency = Adjacency::kReplace;
  const Promise promise = PromiseOf(statement);
  EXPECT_THAT(Cells(promise, "Renyi divergence"), Each("2 nats at order 2, both ways"));
  EXPECT_THAT(Cells(promise, "neighbours"), Each("records changed, added or removed"));
  EXPECT_THAT(Cells(promise, "proof"), Each("proven: docs/privacy.md, Theorem 1"));
}

TEST(PromiseTest, APublicListOfUsersIsSaidBesideThePartsNumbers) {
  PrivacyStatement statement = FilteredSubmix();
  statement.public_keys = true;
  const Promise promise = PromiseOf(statement);
  EXPECT_THAT(promise.sentence,
              HasSubstr("(12.13, 1e-05)-differentially private for one user's text, against the "
                        "same user without any; the list of users is public."));
  for (const char* label : {"(epsilon, delta)", "Renyi divergence"}) {
    EXPECT_EQ(Cells(promise, label)[0], Cells(promise, label)[1]);
  }
  EXPECT_THAT(Cells(promise, "neighbours"),
              ElementsAre("records emptied; that the user is on the list is public",
                          "replaced by the public model"));
}

TEST(PromiseTest, ATrainingHasOneColumn) {
  PrivacyStatement statement = FilteredSubmix();
  statement.released = Released::kModel;
  statement.unit = PrivacyUnit::kUserKey;
  statement.adjacency = Adjacency::kPresence;
  Promise promise = PromiseOf(statement);
  EXPECT_EQ(promise.sentence,
            "Whatever is done with the model, it is (12.13, 1e-05)-differentially private for one "
            "user's text. That is weak: an epsilon above 10 excludes hardly anything.");
  EXPECT_THAT(promise.columns, ElementsAre("user"));
  EXPECT_THAT(Cells(promise, "neighbours"), ElementsAre("present or absent"));
  EXPECT_THAT(Cells(promise, "counted over"), ElementsAre("the whole training"));
  statement.unit = PrivacyUnit::kTrainingExample;
  promise = PromiseOf(statement);
  EXPECT_EQ(promise.sentence,
            "Whatever is done with the model, it is (12.13, 1e-05)-differentially private for one "
            "document; a user with several is promised nothing. That is weak: an epsilon above 10 "
            "excludes hardly anything.");
  EXPECT_THAT(promise.columns, ElementsAre("document"));
}

TEST(PromiseTest, AnEpsilonAboveTenIsCalledWeakWhereverItIsSaid) {
  PrivacyStatement statement = FilteredSubmix();
  statement.order = RenyiOrder::Create(8).value();
  statement.delta = kDefaultDelta;
  EXPECT_THAT(PromiseOf(statement).sentence,
              AllOf(HasSubstr("(7.804, 1e-06)"), Not(HasSubstr("weak"))));
  statement.epsilon = FixedNats::RoundDown(3.02);
  EXPECT_EQ(WeaknessOf(*UserLevelStatement(statement)), "");
  statement.epsilon = FixedNats::RoundDown(3.03);
  EXPECT_THAT(PromiseOf(statement).sentence, HasSubstr("That is weak: an epsilon above 10"));
}

TEST(PromiseTest, ADeltaAboveATenthOfOneOverUsersIsCautionedOf) {
  EXPECT_EQ(DeltaCaution(1e-6, 100'000), "");
  EXPECT_THAT(DeltaCaution(1.01e-6, 100'000), HasSubstr("a tenth of 1 / users, 1e-06"));
  EXPECT_THAT(DeltaCaution(1e-6, 100'001), StartsWith("delta 1e-06 is above"));
}

}  // namespace promise_test
}  // namespace submix::accounting
