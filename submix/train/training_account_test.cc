#include "submix/train/training_account.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::train {
namespace {

using base::StatusCode;
using base::StatusIs;
using ::testing::_;

class TrainingAccountTest : public ::testing::Test {
 protected:
  // Pays for `most_` steps.
  TrainingAccountTest()
      : budget_(*StepBudget::Plan({0.5, 4}, {2, 1e-5})), most_(budget_.most_steps()) {}

  auto Open(const std::string& identity = "it") const {
    return TrainingAccount::Open(path_, budget_, identity);
  }

  base::TemporaryDirectory directory_;
  const std::string path_ = directory_.File("training");
  const StepBudget budget_;
  const std::int64_t most_;
};

TEST_F(TrainingAccountTest, PaysForTheStepsOfItsBudgetAndNoMore) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto account, Open());
  ASSERT_GT(most_, 1);
  ASSERT_LT(most_, 200);
  for (std::int64_t step = 0; step < most_; ++step) {
    EXPECT_EQ(account->steps_charged(), step);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipt, account->ChargeStep());
    ASSERT_TRUE(receipt.has_value());
    EXPECT_TRUE(receipt->is_valid() && receipt->paid()[0]);
  }
  for (int again = 0; again < 2; ++again) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipt, account->ChargeStep());
    EXPECT_FALSE(receipt.has_value());
    EXPECT_EQ(account->steps_charged(), most_);
  }
}

TEST_F(TrainingAccountTest, WhatIsBookedStaysBooked) {
  for (std::int64_t step = 0; step < 3; ++step) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto account, Open());
    EXPECT_EQ(account->steps_charged(), step);
    SUBMIX_EXPECT_OK(account->ChargeStep());
  }
}

TEST_F(TrainingAccountTest, BelongsToOneTrainingAndOneProcess) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto account, Open());
  EXPECT_THAT(Open(), StatusIs(StatusCode::kUnavailable, _));
  account.reset();
  EXPECT_THAT(Open("another"), StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_THAT(TrainingAccount::Open(path_, *StepBudget::Plan({0.5, 4}, {3, 1e-5}), "it"),
              StatusIs(StatusCode::kFailedPrecondition, _));
  SUBMIX_EXPECT_OK(Open());
}

TEST_F(TrainingAccountTest, AnOlderCopyIsNoticed) {
  base::FileSystem& files = base::PosixFileSystem();
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto account, Open());
    SUBMIX_ASSERT_OK(account->ChargeStep());
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string older, files.ReadFile(path_ + "/ledger.sqlite"));
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto account, Open());
    SUBMIX_ASSERT_OK(account->ChargeStep());
  }
  SUBMIX_ASSERT_OK(files.WriteFile(path_ + "/ledger.sqlite", older, 0600));
  EXPECT_THAT(Open(), StatusIs(StatusCode::kDataLoss, _));
}

}  // namespace
}  // namespace submix::train
