#include "submix/ledger/receipt.h"

#include <utility>

#include <gtest/gtest.h>

#include "submix/ledger/memory_ledger.h"
#include "submix/ledger/testing/ledger_fixture.h"

namespace submix::ledger {
namespace receipt_test {

Receipt PaidReceipt() {
  const auto ledger = MakeMemoryLedger(2, accounting::FixedNats::FromUnits(10));
  auto receipts = ChargeOne(*ledger, {4, 11}, accounting::ChargeRule::kPerPart, {5, 6});
  EXPECT_THAT(receipts, base::IsOk());
  return std::move(receipts->front());
}

TEST(ReceiptTest, NamesThePartsThatPaidAndWhat) {
  const Receipt receipt = PaidReceipt();
  EXPECT_TRUE(receipt.is_valid());
  EXPECT_EQ(receipt.release_id(), (base::ReleaseId{5, 6}));
  EXPECT_EQ(receipt.paid(), (std::vector<bool>{true, false}));
  EXPECT_EQ(receipt.charges(), Amounts({4, 0}));
  EXPECT_EQ(receipt.record(), 2);
}

TEST(ReceiptTest, IsVoidOnceMovedFrom) {
  Receipt first = PaidReceipt();
  Receipt second = std::move(first);
  EXPECT_TRUE(second.is_valid());
  EXPECT_FALSE(first.is_valid());  // NOLINT(bugprone-use-after-move): the point of this test
  EXPECT_TRUE(first.charges().empty());
  EXPECT_TRUE(first.paid().empty());
  EXPECT_EQ(first.release_id(), base::ReleaseId());
  EXPECT_EQ(first.record(), 0);

  Receipt third = PaidReceipt();
  third = std::move(second);
  EXPECT_TRUE(third.is_valid());
  EXPECT_FALSE(second.is_valid());  // NOLINT(bugprone-use-after-move)
  third = std::move(first);
  EXPECT_FALSE(third.is_valid()) << "a void receipt stays void wherever it goes";
}

TEST(ReceiptTest, SurvivesBeingMovedToItself) {
  Receipt receipt = PaidReceipt();
  Receipt& alias = receipt;
  receipt = std::move(alias);
  EXPECT_TRUE(receipt.is_valid());
  EXPECT_EQ(receipt.charges(), Amounts({4, 0}));
}

}  // namespace receipt_test
}  // namespace submix::ledger
