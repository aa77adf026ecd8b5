#include "submix/accounting/trained_public.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/accounting/user_level.h"

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

PublicTraining Training() { return {"dp-sgd", {0.01, 1.1}, 500, PrivacyUnit::kUserKey, true}; }

double StepsRdp(RenyiOrder order) { return 500 * SubsampledGaussianRdp(0.01, 1.1, order); }

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

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
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
  const std::string text = Joined(LinesAbovePublicTraining(Answers(8, 2), Training()));
  EXPECT_THAT(text, HasSubstr("for one part nothing follows"));
  EXPECT_THAT(text, Not(HasSubstr("unit: part")));
  EXPECT_THAT(text, HasSubstr("unit: user key; adjacency: present or absent; worst case"));
  EXPECT_THAT(text, HasSubstr("Theorems 14 and 15"));
}

TEST(TrainedPublicTest, OtherUsersKeepTheirPartsAndHaveALineOfTheirOwn) {
  PublicTraining training = Training();
  training.same_users = false;
  const PrivacyStatement answers = Answers(8, 2);
  const std::vector<std::string> lines = LinesAbovePublicTraining(answers, training);
  for (const std::string& line : answers.Lines()) EXPECT_THAT(lines, Contains(line));
  EXPECT_THAT(Joined(lines), HasSubstr("on other users"));
  EXPECT_THAT(lines.back(), HasSubstr("unit: user key; adjacency: present or absent"));
}

TEST(TrainedPublicTest, AnswersThatReadNoTextCostWhatTheTrainingCost) {
  PrivacyStatement answers = Answers(2, 0);
  answers.adjacency = Adjacency::kReplace;
  answers.further_bounds = {{RenyiOrder::Infinity(), 0}};
  const std::vector<RdpBound> sums = AddedUserBounds(answers, Training());
  std::vector<RdpBound> steps;
  for (const RenyiOrder order : DefaultOrders()) steps.push_back({order, StepsRdp(order)});
  const auto alone = BestEpsilon(steps, 1e-5, ConversionKind::kImproved);
  EXPECT_DOUBLE_EQ(BestEpsilon(sums, 1e-5, ConversionKind::kImproved)->epsilon, alone->epsilon);
  EXPECT_THAT(Joined(LinesAbovePublicTraining(answers, Training())),
              HasSubstr("(" + FormatCost(alone->epsilon) + ", 1e-05)-differential privacy"));
}

TEST(TrainedPublicTest, WhereNothingFollowsItSaysSo) {
  PrivacyStatement unproven = Answers(8, 2);
  unproven.proven = false;
  PublicTraining of_documents = Training();
  of_documents.unit = PrivacyUnit::kTrainingExample;
  for (const auto& lines : {LinesAbovePublicTraining(unproven, Training()),
                            LinesAbovePublicTraining(Answers(8, 2), of_documents),
                            LinesAbovePublicTraining(Answers(1, 2), Training())}) {
    EXPECT_THAT(lines.back(), HasSubstr("for one user key nothing follows"));
    EXPECT_THAT(Joined(lines), Not(HasSubstr("differential privacy, improved")));
  }
}

}  // namespace
}  // namespace submix::accounting
