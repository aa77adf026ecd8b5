#include "submix/ledger/memory_ledger.h"

#include <gtest/gtest.h>

#include "submix/ledger/testing/ledger_fixture.h"

namespace submix::ledger {
namespace {

using base::StatusCode;
using base::StatusIs;
using ::testing::_;

TEST(MemoryLedgerTest, ChargesAsTheDurableOneDoes) {
  const auto ledger = MakeMemoryLedger(2, accounting::FixedNats::FromUnits(10));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipts, ChargeOne(*ledger, {4, 11}));
  ASSERT_EQ(receipts.size(), 1U);
  EXPECT_EQ(receipts[0].charges(), Amounts({4, 0}));
  EXPECT_EQ(SpentOf(*ledger), (Units{4, 0}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto remaining, ledger->Remaining());
  EXPECT_EQ(remaining, Amounts({6, 10}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto accounts, ledger->Accounts());
  EXPECT_EQ(accounts[1].name, "part 1");
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST(MemoryLedgerTest, MovesItsHeadWithEveryStep) {
  const auto ledger = MakeMemoryLedger(1, accounting::FixedNats::FromUnits(10));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto before, ledger->head());
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto after, ledger->head());
  EXPECT_EQ(before.records, 1);
  EXPECT_EQ(after.records, 2);
  EXPECT_NE(before.hash, after.hash);
}

TEST(MemoryLedgerTest, RefusesStepsThatDoNotFit) {
  const auto ledger = MakeMemoryLedger(2, accounting::FixedNats::FromUnits(10));
  EXPECT_THAT(ChargeOne(*ledger, {1}), StatusIs(StatusCode::kInvalidArgument, _));
  EXPECT_EQ(SpentOf(*ledger), (Units{0, 0}));
  SUBMIX_EXPECT_OK(ledger->Charge({}));
}

}  // namespace
}  // namespace submix::ledger
