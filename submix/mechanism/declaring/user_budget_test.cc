#include "submix/mechanism/declaring/user_budget.h"

#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/accounting/privacy_statement.h"
#include "submix/accounting/user_level.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/declaring/make_mechanism.h"

namespace submix::mechanism {
namespace user_budget_test {

using base::StatusCode;
using base::StatusIs;
using divergence::RenyiOrder;

constexpr std::int64_t kTokens = 1024;

MechanismOptions Asked(const char* name) {
  MechanismOptions options;
  options.name = name;
  options.num_parts = 16;
  return options;
}

base::StatusOr<PartBudget> Keep(const char* name, const UserPromise& promise) {
  return KeepUserPromise(Asked(name), kTokens, promise, MakeMechanism);
}

std::vector<accounting::RdpBound> UserBounds(const PartBudget& declared) {
  const auto mechanism = MakeMechanism(declared.mechanism).value();
  return accounting::StatedUserLevelBounds(
      mechanism->Statement(accounting::FixedNats::RoundDown(declared.epsilon)));
}

// Theorem 5: order a0 = a + sqrt(a^2 - a), the next whole one, and a factor of
// (2 a0 - 1) / (a0 - 1).
TEST(UserBudgetTest, AFilterDeclaresTheOrderAndTheShareOfTheoremSix) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PartBudget kept, Keep("filtered-submix", {.epsilon = 2}));
  EXPECT_EQ(kept.mechanism.order.value(), 4);
  EXPECT_NEAR(kept.epsilon, 2 * 3.0 / 7, 1e-9);
  EXPECT_NEAR(kept.mechanism.target_leakage, kept.epsilon / 1024, 1e-15);
  const auto bounds = UserBounds(kept);
  EXPECT_NEAR(bounds.front().order.value(), 16.0 / 7, 1e-12);
  EXPECT_LE(bounds.front().rdp, 2);
}

// dclip's range doubles for users, so its cost grows about fourfold.
TEST(UserBudgetTest, DclipKeepsItsOrder) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PartBudget kept, Keep("dclip", {.epsilon = 2}));
  EXPECT_EQ(kept.mechanism.order.value(), 2);
  EXPECT_GT(kept.epsilon, 0.45);
  EXPECT_LT(kept.epsilon, 0.55);
  EXPECT_LE(UserBounds(kept).front().rdp, 2);
}

// Eight steps over a quarter of the users each: some (3.9, 1e-5).
const accounting::PublicCost kTraining = {.mechanism = "dp-sgd", .step = {0.25, 1.31}, .steps = 8};

double EpsilonAbove(const accounting::PublicCost& training, const PartBudget& declared) {
  const auto mechanism = MakeMechanism(declared.mechanism).value();
  const auto bounds = accounting::AddedUserBounds(
      mechanism->Statement(accounting::FixedNats::RoundDown(declared.epsilon)), training);
  return accounting::BestEpsilon(bounds, 1e-5, accounting::ConversionKind::kImproved)->epsilon;
}

// Theorem 15: a user who may be in both corpora is promised the sum of both losses.
TEST(UserBudgetTest, ATrainingOnTheSameUsersCounts) {
  UserPromise promise = {.epsilon = 8, .delta = 1e-5, .public_training = kTraining};
  for (const char* name : {"filtered-submix", "dclip"}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const PartBudget kept, Keep(name, promise));
    const double sum = EpsilonAbove(kTraining, kept);
    EXPECT_LE(sum, 8) << name;
    EXPECT_GT(sum, 7.99) << name;
  }
  // Of the sum of both losses more is left than of the sum of both epsilons.
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PartBudget kept, Keep("dclip", promise));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PartBudget half, Keep("dclip", {.epsilon = 4, .delta = 1e-5}));
  EXPECT_EQ(kept.mechanism.order, half.mechanism.order);
  EXPECT_GT(kept.epsilon, 2 * half.epsilon);

  promise.epsilon = 3.5;
  EXPECT_THAT(Keep("dclip", promise),
              StatusIs(StatusCode::kInvalidArgument, testing::HasSubstr("training took some")));
}

TEST(UserBudgetTest, ATrainingOnOthersCostsNothingAndOneOfDocumentsLeavesNothing) {
  UserPromise promise = {.epsilon = 8, .delta = 1e-5};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PartBudget alone, Keep("dclip", promise));
  promise.public_training = kTraining;
  promise.public_training->same_users = false;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PartBudget kept, Keep("dclip", promise));
  EXPECT_EQ(kept.epsilon, alone.epsilon);
  promise.public_training = kTraining;
  promise.public_training->unit = accounting::PrivacyUnit::kTrainingExample;
  EXPECT_THAT(Keep("dclip", promise),
              StatusIs(StatusCode::kFailedPrecondition, testing::HasSubstr("documents")));
}

// Theorem 16: of earlier tokens one order is known, and no bound for users but Theorem 5's.
TEST(UserBudgetTest, EarlierAnswersLeaveTheirOrderAndTheoremFive) {
  const RenyiOrder order = RenyiOrder::Create(8).value();
  for (const char* name : {"filtered-submix", "dclip"}) {
    const auto user_bounds = [&](const PartBudget& kept) {
      EXPECT_EQ(kept.mechanism.order, order);
      const auto budget = accounting::FixedNats::RoundDown(kept.epsilon);
      return accounting::StatedUserLevelBounds(accounting::WithEarlierAnswers(
          MakeMechanism(kept.mechanism).value()->Statement(budget), order, budget));
    };
    SUBMIX_ASSERT_OK_AND_ASSIGN(const PartBudget with_delta,
                                Keep(name, {.epsilon = 8, .delta = 1e-5, .earlier_order = order}));
    const auto best = accounting::BestEpsilon(user_bounds(with_delta), 1e-5,
                                              accounting::ConversionKind::kImproved);
    EXPECT_LE(best->epsilon, 8) << name;
    EXPECT_GT(best->epsilon, 7.99) << name;
    SUBMIX_ASSERT_OK_AND_ASSIGN(const PartBudget renyi,
                                Keep(name, {.epsilon = 2, .earlier_order = order}));
    const auto bounds = user_bounds(renyi);
    EXPECT_GE(bounds.front().order.value(), 2) << name;
    EXPECT_LE(bounds.front().rdp, 2) << name;
    EXPECT_THAT(Keep(name, {.epsilon = 2, .order = order, .earlier_order = order}),
                StatusIs(StatusCode::kInvalidArgument, testing::HasSubstr("earlier")))
        << "Theorem 5 from order 8 leads below it";
  }
}

// What one part is promised: the whole of what is asked for, at the order that is asked for.
TEST(UserBudgetTest, OneUserAPartOfAPublicListCostsNoFactor) {
  for (const char* name : {"filtered-submix", "dclip"}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const PartBudget kept,
                                Keep(name, {.epsilon = 2, .public_keys = true}));
    EXPECT_EQ(kept.mechanism.order.value(), 2);
    EXPECT_GT(kept.epsilon, 1.999) << name;
    EXPECT_LE(kept.epsilon, 2) << name;
    const AskedBudget asked = {.epsilon = 8, .for_users = true, .delta = 1e-5, .public_keys = true};
    SUBMIX_ASSERT_OK_AND_ASSIGN(const PartBudget at_delta,
                                DeclareBudget(Asked(name), asked, MakeMechanism));
    auto statement = MakeMechanism(at_delta.mechanism)
                         .value()
                         ->Statement(accounting::FixedNats::RoundDown(at_delta.epsilon));
    const auto best = accounting::BestEpsilon(accounting::StatedBounds(statement), 1e-5,
                                              accounting::ConversionKind::kImproved);
    ASSERT_TRUE(best.ok());
    EXPECT_LE(best->epsilon, 8) << name;
    EXPECT_GT(best->epsilon, 7.999) << name;
  }
}

TEST(UserBudgetTest, APromiseWithADeltaIsKept) {
  for (const char* name : {"filtered-submix", "dclip"}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const PartBudget kept, Keep(name, {.epsilon = 8, .delta = 1e-5}));
    const auto best =
        accounting::BestEpsilon(UserBounds(kept), 1e-5, accounting::ConversionKind::kImproved);
    ASSERT_TRUE(best.ok());
    EXPECT_LE(best->epsilon, 8);
    EXPECT_GT(best->epsilon, 7.999) << name;
  }
}

// Its bound holds for its data alone, as research mechanisms' do.
class OfThisDataOnly final : public Mechanism {
 public:
  std::string_view name() const override { return "of this data"; }
  bool is_sound() const override { return false; }
  accounting::ChargeRule charge_rule() const override { return accounting::ChargeRule::kPerPart; }
  int halves() const override { return 1; }
  accounting::PrivacyStatement Statement(accounting::FixedNats budget) const override {
    return accounting::ResearchStatement("of this data", RenyiOrder::Two(), budget, "no proof");
  }
  base::StatusOr<std::unique_ptr<Proposal>> Propose(const PartPredictions&,
                                                    std::span<const accounting::FixedNats>,
                                                    base::ReleaseId) const override {
    return base::UnimplementedError("only its statement is asked");
  }
};

TEST(UserBudgetTest, ADeclarationIsTheShareOfOneAnswerOrWhatUsersNeed) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const PartBudget part,
      DeclareBudget(Asked("filtered-submix"), {.epsilon = 2, .tokens = 16}, MakeMechanism));
  EXPECT_EQ(part.epsilon, 2);
  EXPECT_EQ(part.mechanism.order.value(), 8);
  EXPECT_DOUBLE_EQ(part.mechanism.target_leakage, 0.125);
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const PartBudget user,
      DeclareBudget(Asked("filtered-submix"),
                    {.epsilon = 2, .for_users = true, .order = RenyiOrder::Two(), .delta = 1e-6},
                    MakeMechanism));
  EXPECT_NEAR(user.epsilon, 2 * 3.0 / 7, 1e-9);
  MechanismOptions with_leakage = Asked("filtered-submix");
  with_leakage.target_leakage = 0.001;
  EXPECT_THAT(DeclareBudget(with_leakage, {.for_users = true, .delta = 1e-6}, MakeMechanism),
              StatusIs(StatusCode::kInvalidArgument, testing::HasSubstr("leave it out")));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PartBudget kept,
                              DeclareBudget(with_leakage, {}, MakeMechanism));
  EXPECT_EQ(kept.mechanism.target_leakage, 0.001);
}

// The search tries budgets so small that a token's charge rounds to nothing.
TEST(UserBudgetTest, PMixedIsDeclaredAtDefaultOptions) {
  for (const std::int64_t tokens : {1000, 3000}) {
    for (const double epsilon : {.3, 1.0, 3.0}) {
      MechanismOptions asked = Asked("pmixed");
      asked.accounting = ChargeAccounting::kWorstCase;
      asked.num_parts = 16;
      SUBMIX_ASSERT_OK_AND_ASSIGN(
          const PartBudget budget,
          KeepUserPromise(asked, tokens, {.epsilon = epsilon, .delta = 1e-6}, MakeMechanism));
      EXPECT_LE(budget.user_epsilon, epsilon);
      EXPECT_GT(budget.user_epsilon, .9 * epsilon);
    }
  }
}

TEST(UserBudgetTest, NothingFollowsFromResearchAndFromNothing) {
  const auto make = [](const MechanismOptions&) -> base::StatusOr<std::unique_ptr<Mechanism>> {
    return std::make_unique<OfThisDataOnly>();
  };
  EXPECT_THAT(KeepUserPromise(Asked("of this data"), kTokens, {}, make),
              StatusIs(StatusCode::kFailedPrecondition, testing::HasSubstr("nothing follows")));
  EXPECT_THAT(Keep("dclip", {.epsilon = 1e-9}),
              StatusIs(StatusCode::kInvalidArgument, testing::HasSubstr("no budget")));
}

}  // namespace user_budget_test
}  // namespace submix::mechanism
