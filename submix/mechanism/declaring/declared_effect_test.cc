#include "submix/mechanism/declaring/declared_effect.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/declaring/make_mechanism.h"

namespace submix::mechanism {
namespace declared_effect_test {

using accounting::FixedNats;
using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

MechanismOptions Asked(const char* name) {
  MechanismOptions options;
  options.name = name;
  options.num_parts = 64;
  return options;
}

AskedBudget ForUsers(double epsilon) {
  return {.epsilon = epsilon, .for_users = true, .delta = 1e-6};
}

TEST(LargestEffectTest, GrowsWithTheBudgetAndIsNothingWithoutOne) {
  for (const char* name : {"dclip", "filtered-submix", "filtered-dclip"}) {
    double last = 0;
    for (const double epsilon : {1.0, 4.0, 16.0}) {
      SUBMIX_ASSERT_OK_AND_ASSIGN(const auto declared,
                                  DeclareBudget(Asked(name), ForUsers(epsilon), MakeMechanism));
      const auto mechanism = *MakeMechanism(declared.mechanism);
      const double effect =
          LargestEffect(*mechanism, declared.mechanism, FixedNats::RoundDown(declared.epsilon));
      EXPECT_GT(effect, last) << name;
      EXPECT_LT(LargestEffect(*mechanism, declared.mechanism, FixedNats()), 1e-12) << name;
      last = effect;
    }
    EXPECT_LT(last, 15) << name;
  }
}

// 0.01 at delta 1e-6 leaves 4e-13 nats, kept by tokens that are the public model's.
TEST(DeclareUsefulBudgetTest, RefusesWhatDoesNothingAndNamesTheSmallestThatDoes) {
  for (const char* name : {"dclip", "filtered-submix"}) {
    const auto refused = DeclareUsefulBudget(Asked(name), ForUsers(.01), MakeMechanism);
    ASSERT_THAT(refused, StatusIs(StatusCode::kInvalidArgument,
                                  HasSubstr("the smallest epsilon that does something here is ")));
    const std::string message = refused.status().message();
    const double least = std::stod(message.substr(message.find("here is ") + 8));
    EXPECT_GT(least, .01) << name;
    EXPECT_LT(least, 1) << name;
    SUBMIX_EXPECT_OK(DeclareUsefulBudget(Asked(name), ForUsers(least), MakeMechanism));
    EXPECT_FALSE(DeclareUsefulBudget(Asked(name), ForUsers(.8 * least), MakeMechanism).ok());
  }
}

TEST(DeclareUsefulBudgetTest, RefusesABudgetThatBacksNoAnswer) {
  MechanismOptions asked = Asked("dclip");
  asked.target_leakage = .01;
  EXPECT_THAT(DeclareUsefulBudget(asked, {.epsilon = .005}, MakeMechanism),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("smallest epsilon")));
  SUBMIX_EXPECT_OK(DeclareUsefulBudget(asked, {.epsilon = .5}, MakeMechanism));
}

// Where no epsilon is of use, the problem itself is said.
TEST(DeclareUsefulBudgetTest, NamesNoEpsilonWhereNoneHelps) {
  MechanismOptions asked = Asked("dclip");
  asked.clip.stretch = 20;
  EXPECT_THAT(DeclareUsefulBudget(asked, {.epsilon = 2}, MakeMechanism),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("clip"), Not(HasSubstr("smallest epsilon")))));
  for (const double epsilon : {0.0, -1.0, std::nan("")}) {
    const auto declared = DeclareUsefulBudget(Asked("dclip"), ForUsers(epsilon), MakeMechanism);
    EXPECT_THAT(declared, StatusIs(StatusCode::kInvalidArgument, HasSubstr("no budget keeps")));
  }
}

TEST(DeclareUsefulBudgetTest, RefusesMoreThanALedgerHolds) {
  for (const double epsilon : {8192.0, 9e3, 1e300, HUGE_VAL}) {
    for (const bool for_users : {false, true}) {
      EXPECT_THAT(DeclareUsefulBudget(Asked("dclip"),
                                      {.epsilon = epsilon, .for_users = for_users, .delta = 1e-6},
                                      MakeMechanism),
                  StatusIs(StatusCode::kInvalidArgument, HasSubstr("below 8192 nats")))
          << epsilon;
    }
  }
}

// It looks for an epsilon up to what a ledger holds, and finds none.
TEST(DeclareUsefulBudgetTest, SaysThatNothingIsChangedAtAnyEpsilon) {
  MechanismOptions asked = Asked("filtered-submix");
  asked.max_mixing_weight = 1e-9;
  EXPECT_THAT(DeclareUsefulBudget(asked, {.epsilon = 2}, MakeMechanism),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("filtered-submix: every token would be the public model's"),
                             Not(HasSubstr("smallest epsilon")))));
}

TEST(DeclareUsefulBudgetTest, ThePublicModelMayBeDeclared) {
  SUBMIX_EXPECT_OK(DeclareUsefulBudget(Asked("public"), {.epsilon = 1}, MakeMechanism));
}

}  // namespace declared_effect_test
}  // namespace submix::mechanism
