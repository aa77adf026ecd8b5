// The ledgers in testdata/ledger were written by make_ledgers.py, from docs/ledger_format.md alone.
#include <filesystem>

#include <gtest/gtest.h>

#include "submix/ledger/anchor.h"
#include "submix/ledger/sqlite_tables.h"
#include "submix/ledger/testing/ledger_fixture.h"

namespace submix::ledger {
namespace ledger_migration_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

// What testdata/ledger/README.md says of both files.
const Units kBudgets = {1'000'000'000'000'000, 2'000'000'000'000'000, 500};
const Units kSpent = {123'456'789'012'345, 2'000'000'000'000'000, 490};
constexpr std::int64_t kRecords = 5;

class LedgerMigrationTest : public LedgerFixture {
 protected:
  void Take(const std::string& name) {
    const std::string folder = std::string(SUBMIX_TESTDATA_DIR) + "/ledger/";
    CopyLedger(folder + name + ".sqlite", options_.location);
    CopyLedger(folder + name + ".anchor", options_.anchor_path);
  }

  static Units BudgetsOf(const Ledger& ledger) {
    Units budgets;
    const auto accounts = ledger.Accounts();
    EXPECT_THAT(accounts, base::IsOk());
    for (const Account& account : *accounts) budgets.push_back(account.budget.units());
    return budgets;
  }

  int FormatThere() const {
    auto connection = SqliteConnection::Open(options_.location, SqliteConnection::Mode::kReadOnly);
    EXPECT_THAT(connection, base::IsOk());
    return ReadFormat(*connection).value();
  }

  LedgerMigrationTest() { options_.fingerprint = base::Sha256("rebound deployment"); }
};

TEST_F(LedgerMigrationTest, ReadsANewestLedgerWrittenByAnother) {
  Take("format2");
  const auto ledger = Open();
  ASSERT_NE(ledger, nullptr);
  EXPECT_EQ(BudgetsOf(*ledger), kBudgets);
  EXPECT_EQ(SpentOf(*ledger), kSpent);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto head, ledger->head());
  EXPECT_EQ(head.records, kRecords);
  EXPECT_EQ(ledger->lineage(), "000102030405060708090a0b0c0d0e0f");
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(LedgerMigrationTest, AnOldLedgerKeepsEverySpentAmountAndItsChain) {
  Take("format1");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const AnchorPosition before, ReadAnchor(options_.anchor_path));
  ASSERT_EQ(before.head.records, kRecords);
  {
    const auto ledger = Open();
    ASSERT_NE(ledger, nullptr);
    EXPECT_EQ(BudgetsOf(*ledger), kBudgets);
    EXPECT_EQ(SpentOf(*ledger), kSpent);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto accounts, ledger->Accounts());
    EXPECT_EQ(accounts[2].name, "part 2");
    SUBMIX_EXPECT_OK(ledger->Verify());
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipts, ChargeOne(*ledger, {1, 1, 10}));
    EXPECT_EQ(receipts[0].paid(), (std::vector<bool>{true, false, true}));
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      auto connection,
      SqliteConnection::Open(options_.location, SqliteConnection::Mode::kReadOnly));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const StoredLedger stored,
                              ReadStored(connection, kNewestFormat, kRecords + 1));
  const auto& migration = stored.anchored;
  ASSERT_TRUE(migration.has_value());
  EXPECT_EQ(migration->previous, before.head.hash) << "the chain goes on";
  EXPECT_EQ(migration->payload[0], static_cast<char>(RecordType::kMigrate));
  const auto ledger = Open();
  EXPECT_EQ(SpentOf(*ledger), (Units{kSpent[0] + 1, kSpent[1], kSpent[2] + 10}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto head, ledger->head());
  EXPECT_EQ(head.records, kRecords + 2) << "migrated once";
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(LedgerMigrationTest, AReaderLeavesAnOldLedgerAlone) {
  Take("format1");
  EXPECT_THAT(DurableLedger::OpenReadOnly(options_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("older format (1)")));
}

TEST_F(LedgerMigrationTest, AnOldLedgerThatDoesNotAddUpIsRefusedUntouched) {
  Take("format1");
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(
        auto connection,
        SqliteConnection::Open(options_.location, SqliteConnection::Mode::kReadWrite));
    SUBMIX_ASSERT_OK(connection.Execute("UPDATE accounts SET spent = 1 WHERE part = 0"));
  }
  EXPECT_THAT(DurableLedger::Open(options_),
              StatusIs(StatusCode::kDataLoss, HasSubstr("account 0")));
  EXPECT_EQ(FormatThere(), 1);
}

TEST_F(LedgerMigrationTest, AnOldLedgerWhoseAnchorCannotBeWrittenIsRefusedUntouched) {
  Take("format1");
  using std::filesystem::perms;
  std::filesystem::permissions(directory_.path(), perms::all);
  std::filesystem::permissions(options_.location, perms::all);
  std::filesystem::permissions(options_.anchor_path,
                               perms::owner_read | perms::group_read | perms::others_read);
  EXPECT_EXIT(ExitWithCodeOfOpen(options_),
              ::testing::ExitedWithCode(static_cast<int>(StatusCode::kFailedPrecondition)), "");
  EXPECT_EQ(FormatThere(), 1);
}

TEST_F(LedgerMigrationTest, AnOldLedgerIsHeldToItsAnchor) {
  Take("format1");
  Take("format2");
  CopyLedger(std::string(SUBMIX_TESTDATA_DIR) + "/ledger/format1.sqlite", options_.location);
  EXPECT_THAT(DurableLedger::Open(options_),
              StatusIs(StatusCode::kDataLoss, HasSubstr("record 5 is not the one")));
}

}  // namespace ledger_migration_test
}  // namespace submix::ledger
