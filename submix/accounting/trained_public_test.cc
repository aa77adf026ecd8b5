#include "submix/accounting/trained_public.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/accounting/user_level.h"

namespace submix::accounting {
namespace trained_public_test {

using divergence::RenyiOrder;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

PublicCost Training() { return {"dp-sgd", {0.01, 1.1}, 500, PrivacyUnit::kUserKey, true}; }

double StepsRdp(RenyiOrder order) { return Outward(500 * SubsampledGaussianRdp(0.01, 1.1, order)); }

PrivacyStatement Answers(double order, double epsilon) {
  PrivacyStatement statement;
  statement.mechanism = "filtered-submix";
  statement.order = RenyiOrder::Create(order).value();
  statement.epsilon = FixedNats::RoundUp(epsilon);
  statement.worst_case = true;
  statement.proven = true;
  statement.proof = "a proof";
  return statement;
}

std::vector<std::string> Cells(const Promise& promise, const std::string& label) {
  for (const PromiseRow& row : promise.rows) {
    if (row.label == label) return row.cells;
  }
  return {};
}

TEST(TrainedPublicTest, LossesAddAtEveryOrderThatTheAnswersCover) {
  const PrivacyStatement answers = Answers(8, 2);
  const auto user = UserLevelFromPartOrder(answers.order);
  const std::vector<RdpBound> sums = AddedUserBounds(answers, Training());
  ASSERT_GT(sums.size(), 10U);
  bool at_the_users_order = false;
  for (const RdpBound& sum : sums) {
    EXPECT_LE(sum.order.value(), user->order.value());
    EXPECT_DOUBLE_EQ(sum.rdp, 2 * user->factor + StepsRdp(sum.order));
    at_the_users_order = at_the_users_order || sum.order.value() == user->order.value();
  }
  EXPECT_TRUE(at_the_users_order);
}

TEST(TrainedPublicTest, TheSameUsersHaveNoPartLevelStatement) {
  const Promise promise = PromiseAbovePublicTraining(Answers(8, 2), Training());
  EXPECT_THAT(promise.sentence,
              MatchesRegex("Whatever anybody asks, all answers and the public model together are "
                           "\\([0-9.]+, 1e-06\\)-differentially private for one user's text\\..*"));
  EXPECT_THAT(promise.columns, ElementsAre("user", "part"));
  EXPECT_EQ(Cells(promise, "(epsilon, delta)")[1],
            "nothing follows: the public model has read its users' text too");
  for (const char* label : {"Renyi divergence", "neighbours", "holds for", "proof"}) {
    EXPECT_EQ(Cells(promise, label)[1], "-");
  }
  EXPECT_EQ(Cells(promise, "unit")[0], "all text of one user key");
  EXPECT_EQ(Cells(promise, "neighbours")[0], "present or absent");
  EXPECT_EQ(Cells(promise, "holds for")[0], "every data set");
  EXPECT_EQ(Cells(promise, "counted over")[0], "all answers and the public model");
  EXPECT_THAT(Cells(promise, "proof")[0], HasSubstr("Theorems 14 and 15"));
  EXPECT_EQ(Cells(promise, "mechanism")[0],
            "filtered-submix above a public model trained by dp-sgd");
}

TEST(TrainedPublicTest, OneUserAPartAddsThePartsBound) {
  PrivacyStatement answers = Answers(8, 2);
  answers.public_keys = true;
  for (const RdpBound& sum : AddedUserBounds(answers, Training())) {
    EXPECT_LE(sum.order.value(), 8);
    EXPECT_DOUBLE_EQ(sum.rdp, 2 + StepsRdp(sum.order));
  }
  const Promise promise = PromiseAbovePublicTraining(answers, Training());
  EXPECT_THAT(promise.sentence, HasSubstr("the list of users is public"));
  EXPECT_THAT(Cells(promise, "neighbours")[0], StartsWith("records emptied"));
}

// Emptied is not absent where a user without text has a gradient: the clipped sum moves by up to
// twice the norm (twelve steps: 7.95 printed, 8.96 true).
TEST(TrainedPublicTest, WhereEmptyUsersTrainNothingFollowsForThoseOfAPublicList) {
  PublicCost training = Training();
  training.empty_is_absent = false;
  PrivacyStatement answers = Answers(8, 2);
  EXPECT_FALSE(AddedUserBounds(answers, training).empty());
  answers.public_keys = true;
  EXPECT_TRUE(AddedUserBounds(answers, training).empty());
  const Promise promise = PromiseAbovePublicTraining(answers, training);
  EXPECT_THAT(promise.sentence, StartsWith("Nothing is proven for one user's text"));
  EXPECT_THAT(Cells(promise, "(epsilon, delta)")[0], HasSubstr("whose records are empty"));
}

TEST(TrainedPublicTest, OtherUsersKeepTheirPartsAndHaveAColumnOfTheirOwn) {
  PublicCost training = Training();
  training.same_users = false;
  const PrivacyStatement answers = Answers(8, 2);
  const Promise promise = PromiseAbovePublicTraining(answers, training);
  const Promise of_answers = PromiseOf(answers);
  const Promise of_training = PromiseOf(TrainingStatement(training, answers.delta));
  EXPECT_THAT(promise.columns, ElementsAre("user", "part", "user of the public model"));
  for (const PromiseRow& row : promise.rows) {
    std::vector<std::string> expected = Cells(of_answers, row.label);
    if (row.label != "unit") expected.push_back(Cells(of_training, row.label).front());
    if (row.label == "unit") expected.push_back("all text of one user key, in its corpus only");
    EXPECT_EQ(row.cells, expected) << row.label;
  }
  EXPECT_THAT(promise.sentence, StartsWith(of_answers.sentence + " The public model is ("));
  EXPECT_THAT(promise.sentence,
              EndsWith(")-differentially private for the text of one of its own users, who are "
                       "others."));
  training.unit = PrivacyUnit::kTrainingExample;
  EXPECT_EQ(PromiseAbovePublicTraining(answers, training).columns.back(),
            "document of the public model");
}

TEST(TrainedPublicTest, AnswersThatReadNoTextCostWhatTheTrainingCost) {
  PrivacyStatement answers = Answers(2, 0);
  answers.adjacency = Adjacency::kReplace;
  answers.further_bounds = {{RenyiOrder::Infinity(), 0}};
  const std::vector<RdpBound> sums = AddedUserBounds(answers, Training());
  std::vector<RdpBound> steps;
  for (const RenyiOrder order : DefaultOrders()) steps.push_back({order, StepsRdp(order)});
  const auto alone = BestEpsilon(steps, 1e-6, ConversionKind::kImproved);
  EXPECT_DOUBLE_EQ(BestEpsilon(sums, 1e-6, ConversionKind::kImproved)->epsilon, alone->epsilon);
  const Promise promise = PromiseAbovePublicTraining(answers, Training());
  EXPECT_THAT(promise.sentence,
              HasSubstr("(" + FormatCost(alone->epsilon) + ", 1e-06)-differentially private"));
}

TEST(TrainedPublicTest, WhereNothingFollowsItSaysSo) {
  PrivacyStatement unproven = Answers(8, 2);
  unproven.proven = false;
  PublicCost of_documents = Training();
  of_documents.unit = PrivacyUnit::kTrainingExample;
  for (const Promise& promise : {PromiseAbovePublicTraining(unproven, Training()),
                                 PromiseAbovePublicTraining(Answers(8, 2), of_documents),
                                 PromiseAbovePublicTraining(Answers(1, 2), Training())}) {
    EXPECT_EQ(promise.sentence,
              "Nothing is proven for one user's text, which answers and public model may both have "
              "read.");
    EXPECT_THAT(Cells(promise, "(epsilon, delta)"), Each(StartsWith("nothing follows")));
    EXPECT_THAT(Cells(promise, "Renyi divergence"), Each("-"));
    EXPECT_THAT(promise.ToText(), Not(HasSubstr("1e-06")));
  }
}

}  // namespace trained_public_test
}  // namespace submix::accounting
