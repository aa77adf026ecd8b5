// Damaged, cut, exchanged and older files: a ledger is refused, or means what it meant.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/ledger/sqlite_tables.h"
#include "submix/ledger/testing/ledger_fixture.h"

namespace submix::ledger {
namespace ledger_damage_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

constexpr std::size_t kPageBytes = 4096;

class LedgerDamageTest : public LedgerFixture {
 protected:
  // The same ledger for every test: durable charges take long on a busy disk.
  struct Sample {
    std::string ledger;
    std::string anchor;
    Units spent;
  };
  static const Sample& TheSample() {
    static const Sample* const sample = new Sample(MakeSample());
    return *sample;
  }

  LedgerDamageTest()
      : content_(TheSample().ledger), anchor_(TheSample().anchor), spent_(TheSample().spent) {
    PutBack(content_);
  }

  static void ChargeTimes(int steps, const DurableLedgerOptions& options) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto ledger, DurableLedger::Open(options));
    for (int i = 0; i < steps; ++i) SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1, 20, 300, 4}));
  }

  void ChargeTimes(int steps) { ChargeTimes(steps, options_); }

  static std::string Read(const std::string& path) {
    auto content = base::ReadFile(path);
    EXPECT_THAT(content, base::IsOk());
    return content.value();
  }

  static void Write(const std::string& path, const std::string& content) {
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << content;
  }

  void PutBack(const std::string& ledger) {
    for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(options_.location + suffix);
    Write(options_.location, ledger);
    Write(options_.anchor_path, anchor_);
  }

  void ExpectRefusedOrTheSame(const std::string& ledger, const std::string& what) {
    PutBack(ledger);
    const auto reader = DurableLedger::OpenReadOnly(options_);
    if (!reader.ok() || !(*reader)->Verify().ok()) return;
    EXPECT_EQ(SpentOf(**reader), spent_) << what;
  }

  // The same for a writer, which also must add to what was spent.
  void ExpectRefusedOrCharged(const std::string& ledger, const std::string& what) {
    PutBack(ledger);
    const auto writer = DurableLedger::Open(options_);
    if (!writer.ok()) return;
    EXPECT_EQ(SpentOf(**writer), spent_) << what;
    if (!ChargeOne(**writer, {1, 1, 1, 1}).ok()) return;
    Units expected = spent_;
    for (std::int64_t& spent : expected) spent += 1;
    EXPECT_EQ(SpentOf(**writer), expected) << what;
  }

  const std::string content_;
  const std::string anchor_;
  const Units spent_;

 private:
  static Sample MakeSample() {
    const base::TemporaryDirectory directory;
    const DurableLedgerOptions options{directory.File("ledger.sqlite"), directory.File("anchor"),
                                       base::Sha256("deployment")};
    EXPECT_THAT(DurableLedger::Create(options, Parts({1'000'000, 1'000'000, 1'000'000, 50}), "2"),
                base::IsOk());
    ChargeTimes(30, options);
    return {Read(options.location), Read(options.anchor_path), {30, 600, 9000, 48}};
  }
};

TEST_F(LedgerDamageTest, AFlippedBitIsRefusedOrMeansNothing) {
  int verified = 0;
  // A prime, so that every field of SQLite's cells is met.
  for (std::size_t at = 0; at < content_.size(); at += 29) {
    std::string damaged = content_;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
    ExpectRefusedOrTheSame(damaged, "byte " + std::to_string(at));
    ++verified;
  }
  EXPECT_GT(verified, 400);
}

TEST_F(LedgerDamageTest, AWriterMeetsFlippedBitsAsSafely) {
  for (std::size_t at = 0; at < content_.size(); at += 613) {
    std::string damaged = content_;
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
    ExpectRefusedOrCharged(damaged, "byte " + std::to_string(at));
  }
}

TEST_F(LedgerDamageTest, AFileCutAtAnyPageIsRefused) {
  for (std::size_t bytes = 0; bytes < content_.size(); bytes += kPageBytes) {
    PutBack(content_.substr(0, bytes));
    EXPECT_FALSE(DurableLedger::Open(options_).ok()) << bytes;
    PutBack(content_.substr(0, bytes));
    EXPECT_FALSE(DurableLedger::OpenReadOnly(options_).ok()) << bytes;
    ExpectRefusedOrTheSame(content_.substr(0, bytes + kPageBytes / 2), std::to_string(bytes));
  }
}

TEST_F(LedgerDamageTest, AZeroedPageIsRefusedByOpenOrVerify) {
  for (std::size_t start = 0; start < content_.size(); start += kPageBytes) {
    std::string damaged = content_;
    damaged.replace(start, kPageBytes, kPageBytes, '\0');
    PutBack(damaged);
    const auto reader = DurableLedger::OpenReadOnly(options_);
    EXPECT_TRUE(!reader.ok() || !(*reader)->Verify().ok()) << start;
  }
}

class LedgerForgeryTest : public LedgerDamageTest,
                          public ::testing::WithParamInterface<const char*> {};

TEST_P(LedgerForgeryTest, AnEditedTableIsRefusedByOpen) {
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(
        auto connection,
        SqliteConnection::Open(options_.location, SqliteConnection::Mode::kReadWrite));
    SUBMIX_ASSERT_OK(connection.Execute(GetParam()));
  }
  EXPECT_THAT(DurableLedger::Open(options_), StatusIs(StatusCode::kDataLoss, _));
  EXPECT_THAT(DurableLedger::OpenReadOnly(options_), StatusIs(StatusCode::kDataLoss, _));
}

INSTANTIATE_TEST_SUITE_P(
    Edits, LedgerForgeryTest,
    ::testing::Values("UPDATE accounts SET spent = 0 WHERE part = 1",
                      "UPDATE accounts SET budget = budget + 1 WHERE part = 3",
                      "UPDATE accounts SET name = 'another' WHERE part = 0",
                      "UPDATE accounts SET spent = -1 WHERE part = 0",
                      "DELETE FROM accounts WHERE part = 3", "DELETE FROM accounts WHERE part = 1",
                      "INSERT INTO accounts VALUES (4, 'part 4', 100, 0)", "DELETE FROM meta",
                      "UPDATE meta SET order_text = '3'", "DELETE FROM records",
                      "DELETE FROM records WHERE number = 31",
                      "UPDATE records SET payload = x'00' WHERE number = 31",
                      "INSERT INTO records VALUES (40, x'00', x'00', x'00')",
                      "PRAGMA application_id = 1", "PRAGMA user_version = 0", "DROP TABLE accounts",
                      "ALTER TABLE accounts RENAME spent TO spend"));

TEST_F(LedgerDamageTest, VerifyNamesTheRecordAtWhichAnOldEditBreaksTheChain) {
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(
        auto connection,
        SqliteConnection::Open(options_.location, SqliteConnection::Mode::kReadWrite));
    SUBMIX_ASSERT_OK(connection.Execute(
        "UPDATE records SET payload = CAST(payload || x'00' AS BLOB) WHERE number = 12"));
  }
  EXPECT_THAT(Open()->Verify(), StatusIs(StatusCode::kDataLoss, HasSubstr("record 12")));
}

TEST_F(LedgerDamageTest, ARestoredOlderCopyIsNoticed) {
  ChargeTimes(5);
  CopyLedger(options_.location, directory_.File("newest"));
  Write(options_.location, content_);
  const auto older = StatusIs(StatusCode::kDataLoss,
                              HasSubstr("older copy of the ledger (it holds 31 records, the anchor "
                                        "has seen 36); restore the newest copy"));
  EXPECT_THAT(DurableLedger::Open(options_), older);
  EXPECT_THAT(DurableLedger::OpenReadOnly(options_), older);
  CopyLedger(directory_.File("newest"), options_.location);
  SUBMIX_EXPECT_OK(Open()->Verify());
}

TEST_F(LedgerDamageTest, ACopyThatIsOneRecordOldIsAnOlderCopy) {
  ChargeTimes(1);
  Write(options_.location, content_);
  EXPECT_THAT(
      DurableLedger::Open(options_),
      StatusIs(StatusCode::kDataLoss, HasSubstr("(it holds 31 records, the anchor has seen 32)")));
}

// SQLite's errors quote the schema, which it stores as text: no byte of a file may command the
// operator's terminal.
TEST_F(LedgerDamageTest, BytesOfTheFileAreShownPrintable) {
  constexpr std::string_view kType = "INTEGER PRIMARY KEY";
  int errors = 0;
  for (std::size_t at = content_.find(kType); at != std::string::npos;
       at = content_.find(kType, at + 1)) {
    for (const char byte : {'\xd2', '\x1b', '\x07', '\x9b'}) {
      std::string damaged = content_;
      damaged[at + 9] = byte;
      PutBack(damaged);
      for (const auto open : {&DurableLedger::Open, &DurableLedger::OpenReadOnly}) {
        const auto ledger = open(options_);
        if (ledger.ok()) continue;
        ++errors;
        const std::string& message = ledger.status().message();
        EXPECT_EQ(base::Printable(message), message);
      }
    }
  }
  EXPECT_GT(errors, 10);
}

TEST_F(LedgerDamageTest, AnOlderCopyThatWasChargedIsNoticed) {
  ChargeTimes(5);
  const std::string newest_anchor = Read(options_.anchor_path);
  PutBack(content_);
  {
    const auto ledger = Open();
    for (int i = 0; i < 10; ++i) SUBMIX_ASSERT_OK(ChargeOne(*ledger, {2, 2, 2, 2}));
  }
  Write(options_.anchor_path, newest_anchor);
  EXPECT_THAT(DurableLedger::Open(options_),
              StatusIs(StatusCode::kDataLoss, HasSubstr("record 36 is not the one")));
}

TEST_F(LedgerDamageTest, ADamagedAnchorIsRefused) {
  Write(options_.anchor_path, std::string(1024, 'x'));
  EXPECT_THAT(DurableLedger::Open(options_), StatusIs(StatusCode::kDataLoss, _));
  SUBMIX_ASSERT_OK(DurableLedger::RestoreAnchor(options_));
  SUBMIX_EXPECT_OK(Open()->Verify());
}

TEST_F(LedgerDamageTest, NoAnchorForABrokenChain) {
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(
        auto connection,
        SqliteConnection::Open(options_.location, SqliteConnection::Mode::kReadWrite));
    SUBMIX_ASSERT_OK(connection.Execute("UPDATE records SET payload = x'02' WHERE number = 3"));
  }
  std::filesystem::remove(options_.anchor_path);
  EXPECT_THAT(DurableLedger::RestoreAnchor(options_),
              StatusIs(StatusCode::kDataLoss, HasSubstr("record 3")));
  EXPECT_FALSE(std::filesystem::exists(options_.anchor_path));
}

TEST_F(LedgerDamageTest, AnAnchorLeftBehindByACrashIsAdvanced) {
  ChargeTimes(1);
  Write(options_.anchor_path, anchor_);  // the crash came between commit and anchor
  ChargeTimes(1);
  EXPECT_THAT(Read(options_.anchor_path), HasSubstr(" 00000000000000000033 "));
  Write(options_.location, content_);
  EXPECT_THAT(DurableLedger::Open(options_), StatusIs(StatusCode::kDataLoss, _));
}

}  // namespace ledger_damage_test
}  // namespace submix::ledger
