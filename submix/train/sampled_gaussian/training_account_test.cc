#include "submix/train/sampled_gaussian/training_account.h"

#include "submix/accounting/calculators/step_budget.h"
#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::train {
namespace training_account_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

class TrainingAccountTest : public ::testing::Test {
 protected:
  // Pays for `most_` steps.
  TrainingAccountTest()
      : budget_(*accounting::StepBudget::Plan({0.5, 4}, {2, 1e-5})), most_(budget_.most_steps()) {}

  void SetUp() override {
    SUBMIX_ASSERT_OK(
        TrainingAccount::Create(path_, "it", budget_.binding().order, budget_.budget()));
  }

  auto Open(const std::string& identity = "it", std::int64_t known = 0,
            const TrainingStep& next = {0.5, 4}) const {
    const accounting::PrivacyEvent event = {budget_.step(), known};
    return TrainingAccount::Open(path_, identity, budget_.binding().order, {&event, 1}, next);
  }

  base::TemporaryDirectory directory_;
  const std::string path_ = directory_.File("training");
  const accounting::StepBudget budget_;
  const std::int64_t most_;
};

TEST_F(TrainingAccountTest, PaysForTheStepsOfItsBudgetAndNoMore) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto account, Open());
  ASSERT_GT(most_, 1);
  ASSERT_LT(most_, 200);
  for (std::int64_t step = 0; step < most_; ++step) {
    EXPECT_EQ(account->steps_charged(), step);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipt, account->Charge(budget_.step()));
    ASSERT_TRUE(receipt.has_value());
    EXPECT_TRUE(receipt->is_valid() && receipt->paid()[0]);
  }
  for (int again = 0; again < 2; ++again) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipt, account->Charge(budget_.step()));
    EXPECT_FALSE(receipt.has_value());
    EXPECT_EQ(account->steps_charged(), most_);
  }
}

TEST_F(TrainingAccountTest, WhatIsBookedStaysBooked) {
  for (std::int64_t step = 0; step < 3; ++step) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto account, Open());
    EXPECT_EQ(account->steps_charged(), step);
    SUBMIX_EXPECT_OK(account->Charge(budget_.step()));
  }
}

// Everything that was charged counts, whether the checkpoint knows of it or not, at all orders.
TEST_F(TrainingAccountTest, CountsKnownAndLostStepsByTheirParameters) {
  const TrainingStep quieter = {0.5, 6};
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto account, Open());
    EXPECT_EQ(*account->Epsilon(1e-5), 0);
    for (int step = 0; step < 3; ++step) SUBMIX_ASSERT_OK(account->Charge(budget_.step()));
    SUBMIX_ASSERT_OK(account->Charge(quieter));
    EXPECT_EQ(account->steps_charged(), 4);
    const std::vector<accounting::PrivacyEvent> events = {{budget_.step(), 3}, {quieter, 1}};
    EXPECT_EQ(account->history(), events);
    const auto bounds = accounting::CountRdp(events, accounting::DefaultOrders());
    EXPECT_NEAR(*account->Epsilon(1e-5),
                BestEpsilon(bounds, 1e-5, accounting::ConversionKind::kImproved)->epsilon, 1e-12);
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto account, Open("it", 2, quieter));
  const std::vector<accounting::PrivacyEvent> counted = {{budget_.step(), 2}, {quieter, 2}};
  EXPECT_EQ(account->history(), counted);
  EXPECT_EQ(account->steps_charged(), 4);
}

TEST_F(TrainingAccountTest, ACheckpointThatKnowsMoreThanTheLedgerIsRefused) {
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto account, Open());
    SUBMIX_ASSERT_OK(account->Charge(budget_.step()));
  }
  SUBMIX_EXPECT_OK(Open("it", 1));
  EXPECT_THAT(Open("it", 2), StatusIs(StatusCode::kDataLoss, HasSubstr("fewer steps")));
}

TEST_F(TrainingAccountTest, BelongsToOneTrainingAndOneProcess) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto account, Open());
  EXPECT_THAT(Open(), StatusIs(StatusCode::kUnavailable, _));
  account.reset();
  EXPECT_THAT(Open("another"), StatusIs(StatusCode::kFailedPrecondition, _));
  SUBMIX_EXPECT_OK(Open());
}

TEST_F(TrainingAccountTest, AnOlderCopyIsNoticed) {
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto account, Open());
    SUBMIX_ASSERT_OK(account->Charge(budget_.step()));
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string older, base::ReadFile(path_ + "/ledger.sqlite"));
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto account, Open());
    SUBMIX_ASSERT_OK(account->Charge(budget_.step()));
  }
  SUBMIX_ASSERT_OK(base::WriteFile(path_ + "/ledger.sqlite", older, 0600));
  EXPECT_THAT(Open(), StatusIs(StatusCode::kDataLoss, _));
}

}  // namespace training_account_test
}  // namespace submix::train
