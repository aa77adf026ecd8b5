#include "submix/accounting/calculators/step_budget.h"

#include <cmath>
#include <limits>

#include "submix/accounting/calculators/rdp_accountant.h"
#include "submix/accounting/promise.h"
#include "submix/accounting/subsampled_gaussian_rdp.h"
#include "submix/base/testing/status_matchers.h"

namespace submix::accounting {
namespace step_budget_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// What `submix account dp-sgd` prints.
double AccountEpsilon(const SubsampledGaussianRun& step, std::int64_t steps, double delta) {
  const PrivacyEvent event = {step, steps};
  const auto orders = DefaultOrders();
  return BestEpsilon(CountRdp({&event, 1}, orders), delta, ConversionKind::kImproved)->epsilon;
}

TEST(StepBudgetTest, EpsilonEqualsTheAccountant) {
  for (const SubsampledGaussianRun step : {SubsampledGaussianRun{0.01, 1.1}, {0.2, 0.8}, {1, 5}}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const StepBudget budget, StepBudget::Plan(step, {20, 1e-6}));
    EXPECT_EQ(budget.EpsilonAfter(0).epsilon, 0);
    for (const std::int64_t steps : {1, 7, 1000}) {
      EXPECT_DOUBLE_EQ(budget.EpsilonAfter(steps).epsilon, AccountEpsilon(step, steps, 1e-6));
    }
  }
}

TEST(StepBudgetTest, AllStepsOfTheBudgetStayWithinTheTargetAndOneMoreDoesNot) {
  for (const double epsilon : {0.5, 1.0, 3.0, 8.0}) {
    for (const SubsampledGaussianRun step : {SubsampledGaussianRun{0.01, 2}, {0.05, 4}, {1, 60}}) {
      SUBMIX_ASSERT_OK_AND_ASSIGN(const StepBudget budget, StepBudget::Plan(step, {epsilon, 1e-5}));
      const std::int64_t most = budget.most_steps();
      EXPECT_LE(budget.EpsilonAfter(most).epsilon, epsilon) << most;
      EXPECT_GT(budget.EpsilonAfter(most + 1).epsilon, epsilon) << most;
      EXPECT_LE(budget.charge().units() * most, budget.budget().units());
    }
  }
}

TEST(StepBudgetTest, TheStatementSaysWhatWasSpent) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const StepBudget budget, StepBudget::Plan({0.01, 1.1}, {8, 1e-5}));
  const auto statement = budget.Statement(PrivacyUnit::kUserKey, 100);
  EXPECT_EQ(statement.epsilon.units(), 100 * budget.charge().units());
  const std::string epsilon = FormatCost(AccountEpsilon({0.01, 1.1}, 100, 1e-5));
  EXPECT_EQ(PromiseOf(statement).sentence,
            "Whatever is done with the model, it is (" + epsilon +
                ", 1e-05)-differentially private for one user's text.");
  EXPECT_THAT(statement.Labels(),
              HasSubstr("unit: user key; adjacency: present or absent; worst case"));
}

TEST(StepBudgetTest, FindsTheLeastNoiseForANumberOfSteps) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const double noise, NoiseForSteps(0.05, {3, 1e-5}, 100));
  EXPECT_GE(StepBudget::Plan({0.05, noise}, {3, 1e-5})->most_steps(), 100);
  EXPECT_LT(StepBudget::Plan({0.05, noise - 0.01}, {3, 1e-5})->most_steps(), 100);
  // At a single order: the least of the hundredths.
  const RdpBound two_nats = {divergence::RenyiOrder::Two(), 2};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const double at_order, NoiseForSteps(0.05, two_nats, 100));
  EXPECT_LE(100 * SubsampledGaussianRdp(0.05, at_order, two_nats.order), 2);
  EXPECT_GT(100 * SubsampledGaussianRdp(0.05, at_order - 0.01, two_nats.order), 2);
  EXPECT_THAT(NoiseForSteps(0.05, {divergence::RenyiOrder::Infinity(), 2}, 100),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("infinity")));
  EXPECT_THAT(NoiseForSteps(1, {0.001, 1e-5}, 1'000'000'000),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no noise")));
  EXPECT_THAT(NoiseForSteps(kNan, {3, 1e-5}, 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("sampling")));
}

TEST(StepBudgetTest, RefusesWhatHasNoMeaning) {
  const auto plan = [](double q, double z, double epsilon, double delta) {
    return StepBudget::Plan({q, z}, {epsilon, delta}).status();
  };
  SUBMIX_EXPECT_OK(plan(0.1, 4, 1, 1e-5));
  for (const double wrong : {0.0, -1.0, kNan, 1e30}) {
    EXPECT_THAT(plan(wrong, 1, 1, 1e-5), StatusIs(StatusCode::kInvalidArgument, HasSubstr("samp")));
    EXPECT_THAT(plan(0.1, wrong, 1, 1e-5),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("noise")));
    EXPECT_THAT(plan(0.1, 1, wrong, 1e-5),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("eps")));
    EXPECT_THAT(plan(0.1, 1, 1, wrong), StatusIs(StatusCode::kInvalidArgument, HasSubstr("delta")));
  }
  EXPECT_THAT(plan(0.5, 0.1, 1, 1e-5),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("one step costs more")));
}

}  // namespace step_budget_test
}  // namespace submix::accounting
