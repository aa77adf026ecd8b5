#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "submix/base/file_system.h"
#include "submix/ledger/durable_ledger.h"
#include "submix/ledger/sqlite_connection.h"
#include "submix/ledger/testing/ledger_fixture.h"

namespace submix::ledger {
namespace sqlite_ledger_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;

using SqliteLedgerTest = LedgerFixture;

TEST_F(SqliteLedgerTest, CreateOvercomesWhatACrashLeft) {
  std::ofstream(options_.location + ".new") << "half a file";
  std::ofstream(options_.location + ".new-journal") << "half a journal";
  Create({100});
  EXPECT_FALSE(std::filesystem::exists(options_.location + ".new"));
  SUBMIX_EXPECT_OK(Open()->Verify());
}

TEST_F(SqliteLedgerTest, IsReadableByItsOwnerAlone) {
  Create({100});
  const auto ledger = Open();
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  for (const char* suffix : {"", "-wal", "-shm"}) {
    using std::filesystem::perms;
    const auto mode = std::filesystem::status(options_.location + suffix).permissions();
    EXPECT_EQ(mode & (perms::group_all | perms::others_all), perms::none) << suffix;
  }
}

TEST_F(SqliteLedgerTest, OpenNamesAFileThatIsMissing) {
  EXPECT_THAT(DurableLedger::Open(options_),
              StatusIs(StatusCode::kNotFound, HasSubstr(options_.location)));
  EXPECT_THAT(DurableLedger::OpenReadOnly(options_), StatusIs(StatusCode::kNotFound, _));
  EXPECT_FALSE(std::filesystem::exists(options_.location + ".lock"));
}

TEST_F(SqliteLedgerTest, HasOneWriter) {
  Create({100});
  const auto ledger = Open();
  EXPECT_THAT(DurableLedger::Open(options_),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr(options_.location), HasSubstr("another process"))));
  DurableLedgerOptions alias = options_;
  alias.location = directory_.File("alias.sqlite");
  std::filesystem::create_symlink(options_.location, alias.location);
  EXPECT_THAT(DurableLedger::Open(alias), StatusIs(StatusCode::kUnavailable, _));
  SUBMIX_EXPECT_OK(ChargeOne(*ledger, {1}));
}

TEST_F(SqliteLedgerTest, ASecondWriterPastTheLockCannotSpendTwice) {
  Create({100});
  const auto first = Open();
  std::filesystem::remove(options_.location + ".lock");
  const auto second = Open();
  SUBMIX_ASSERT_OK(ChargeOne(*first, {60}));
  EXPECT_FALSE(ChargeOne(*second, {59}).ok());
  EXPECT_FALSE(ChargeOne(*second, {1}).ok()) << "it refuses from now on";
  EXPECT_THAT(second->Recover(), StatusIs(StatusCode::kFailedPrecondition, _));
  SUBMIX_ASSERT_OK(ChargeOne(*first, {1}));
  EXPECT_EQ(SpentOf(*first), (Units{61}));
  SUBMIX_EXPECT_OK(first->Verify());
}

// Such as a migration in which the old server was not stopped.
TEST_F(SqliteLedgerTest, ACopyBesideTheSameAnchorIsNoticedAtItsFirstCharge) {
  Create({100});
  DurableLedgerOptions copied = options_;
  copied.location = directory_.File("copy.sqlite");
  std::filesystem::copy_file(options_.location, copied.location);
  const auto ledger = Open();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto copy, DurableLedger::Open(copied));
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  EXPECT_THAT(ChargeOne(*copy, {2}), StatusIs(StatusCode::kDataLoss, HasSubstr("copy")))
      << "same record";
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {3}));
  EXPECT_FALSE(copy->Recover().ok());
  EXPECT_FALSE(ChargeOne(*copy, {4}).ok()) << "it refuses from now on";
  EXPECT_EQ(SpentOf(*ledger), (Units{4}));
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(SqliteLedgerTest, RefusesANewerFormatUntouched) {
  Create({100});
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(
        auto connection,
        SqliteConnection::Open(options_.location, SqliteConnection::Mode::kReadWrite));
    SUBMIX_ASSERT_OK(connection.Execute("PRAGMA user_version = 3"));
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto before, base::Sha256OfFile(options_.location));
  EXPECT_THAT(DurableLedger::Open(options_),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("format 3; this one reads up to 2); upgrade")));
  EXPECT_THAT(DurableLedger::OpenReadOnly(options_), StatusIs(StatusCode::kFailedPrecondition, _));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto after, base::Sha256OfFile(options_.location));
  EXPECT_EQ(before, after);
}

TEST_F(SqliteLedgerTest, RefusesWhatIsNoLedgerUntouched) {
  Create({100});
  for (const std::string& content : {std::string(), std::string("not a database"),
                                     std::string(9000, '\0'), std::string(9000, 'x')}) {
    std::ofstream(options_.location, std::ios::binary | std::ios::trunc) << content;
    EXPECT_THAT(DurableLedger::Open(options_), StatusIs(StatusCode::kDataLoss, _));
    EXPECT_THAT(DurableLedger::OpenReadOnly(options_), StatusIs(StatusCode::kDataLoss, _));
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto now, base::ReadFile(options_.location));
    EXPECT_EQ(now, content);
  }
}

// While it lives, no file of this process can grow beyond `bytes`: a disk that fills up.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    previous_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &previous_);
    rlimit limit = previous_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &previous_);
    std::signal(SIGXFSZ, previous_handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit previous_{};
  void (*previous_handler_)(int) = nullptr;
};

TEST_F(SqliteLedgerTest, AFullDiskRefusesUntilRecoveredAndLosesNothing) {
  Create({1'000'000});
  std::int64_t acknowledged = 0;
  {
    const auto ledger = Open();
    base::Status failure;
    {
      const FullDisk full(100'000);
      while (failure.ok() && acknowledged < 1000) {
        failure = ChargeOne(*ledger, {1}).status();
        if (failure.ok()) ++acknowledged;
      }
    }
    {
      const FullDisk full(1);
      EXPECT_THAT(ledger->Recover(), StatusIs(StatusCode::kResourceExhausted, _));
    }
    EXPECT_THAT(failure, StatusIs(StatusCode::kResourceExhausted, HasSubstr("free some space")));
    EXPECT_GT(acknowledged, 0);
    // There is room again, but what became durable is unknown.
    EXPECT_THAT(ChargeOne(*ledger, {1}),
                StatusIs(StatusCode::kResourceExhausted, HasSubstr("recovered")));
    EXPECT_FALSE(ledger->Accounts().ok());
    EXPECT_FALSE(ledger->head().ok());
    EXPECT_FALSE(ledger->Rebind({}).ok());
    SUBMIX_ASSERT_OK(ledger->Recover());
    EXPECT_EQ(SpentOf(*ledger), (Units{acknowledged + 1})) << "what failed is charged";
    SUBMIX_EXPECT_OK(ChargeOne(*ledger, {1}));
    SUBMIX_EXPECT_OK(ledger->Recover());  // nothing to do
    SUBMIX_EXPECT_OK(ledger->Verify());
  }
  const auto ledger = Open();
  EXPECT_EQ(SpentOf(*ledger), (Units{acknowledged + 2}));
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(SqliteLedgerTest, ARecordThatWasWrittenIsNotWrittenTwice) {
  Create({100});
  const auto ledger = Open();
  const std::string aside = directory_.File("aside");
  std::filesystem::rename(options_.anchor_path, aside);  // fails after the record is durable
  EXPECT_FALSE(ChargeOne(*ledger, {1}).ok());
  EXPECT_FALSE(ledger->Recover().ok());
  std::filesystem::rename(aside, options_.anchor_path);
  SUBMIX_ASSERT_OK(ledger->Recover());
  EXPECT_EQ(SpentOf(*ledger), (Units{1}));
  SUBMIX_EXPECT_OK(ChargeOne(*ledger, {1}));
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(SqliteLedgerTest, ARebindingInDoubtIsMadeDurable) {
  Create({100});
  const base::Sha256Digest fingerprint = base::Sha256("after forget");
  const auto ledger = Open();
  const std::string aside = directory_.File("aside");
  std::filesystem::rename(options_.anchor_path, aside);
  EXPECT_FALSE(ledger->Rebind(fingerprint).ok());
  std::filesystem::rename(aside, options_.anchor_path);
  SUBMIX_ASSERT_OK(ledger->Recover());
  SUBMIX_EXPECT_OK(ChargeOne(*ledger, {1}));
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(SqliteLedgerTest, AnOlderCopyPutBackIsNotRecoveredFrom) {
  Create({100});
  const std::string older = directory_.File("older");
  CopyLedger(options_.location, older);
  const auto ledger = Open();
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  {
    const FullDisk full(1);
    EXPECT_FALSE(ChargeOne(*ledger, {1}).ok());
    EXPECT_FALSE(ledger->Recover().ok());  // and so it has closed the file
  }
  for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(options_.location + suffix);
  std::filesystem::rename(older, options_.location);
  EXPECT_THAT(ledger->Recover(), StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_FALSE(ChargeOne(*ledger, {1}).ok());
}

TEST_F(SqliteLedgerTest, FilesThatAreTakenAwayAreNoticedAndMayComeBack) {
  Create({100});
  const auto ledger = Open();
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  const base::TemporaryDirectory aside;
  const auto move = [&](const std::string& from, const std::string& to) {
    for (const char* name : {"ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"}) {
      std::filesystem::rename(from + "/" + name, to + "/" + name);
    }
  };
  move(directory_.path(), aside.path());
  const auto names_it = AllOf(HasSubstr(options_.location), HasSubstr("Restore"));
  EXPECT_THAT(ChargeOne(*ledger, {10}), StatusIs(StatusCode::kDataLoss, names_it));
  EXPECT_THAT(ledger->Recover(), StatusIs(StatusCode::kNotFound, names_it));
  EXPECT_THAT(ChargeOne(*ledger, {10}), StatusIs(StatusCode::kDataLoss, names_it));
  EXPECT_FALSE(std::filesystem::exists(options_.location)) << "nothing is begun anew";
  move(aside.path(), directory_.path());
  SUBMIX_ASSERT_OK(ledger->Recover());
  EXPECT_EQ(SpentOf(*ledger), (Units{11})) << "what failed is charged";
  SUBMIX_EXPECT_OK(ChargeOne(*ledger, {1}));
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(SqliteLedgerTest, ALogThatIsDeletedIsSavedWhileItIsOpen) {
  Create({100});
  std::int64_t spent = 0;
  for (const char* suffix : {"-wal", "-shm"}) {
    auto ledger = Open();
    SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
    std::filesystem::remove(options_.location + suffix);
    EXPECT_THAT(ChargeOne(*ledger, {10}),
                StatusIs(StatusCode::kDataLoss, HasSubstr(options_.location + suffix)));
    spent += 11;
    SUBMIX_ASSERT_OK(ledger->Recover());
    EXPECT_EQ(SpentOf(*ledger), (Units{spent}));
    SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
    spent += 1;
    std::filesystem::remove(options_.location + suffix);
    ledger.reset();  // before the next step could notice
    EXPECT_EQ(SpentOf(*Open()), (Units{spent}));
    SUBMIX_EXPECT_OK(Open()->Verify());
  }
}

// A copy from before, moved into the place of a ledger that is open: alone, with its own log, or
// beside the log that is written, to which it fits only at the ends.
class SqliteOlderCopyTest : public SqliteLedgerTest,
                            public ::testing::WithParamInterface<const char*> {};

TEST_P(SqliteOlderCopyTest, IsRefusedAndLeftAlone) {
  Create({1000});
  const std::string with = GetParam();
  const std::string log = options_.location + "-wal";
  const base::TemporaryDirectory older;
  const auto charge = [](DurableLedger& ledger, int times) {
    for (int i = 0; i < times; ++i) SUBMIX_ASSERT_OK(ChargeOne(ledger, {1}));
  };
  {
    const auto ledger = Open();
    charge(*ledger, 1);
    CopyLedger(options_.location, older.File("ledger"));
    CopyLedger(log, older.File("ledger-wal"));
    charge(*ledger, 100);
  }
  auto ledger = Open();
  charge(*ledger, 1);
  std::filesystem::rename(options_.location, older.File("newest"));
  if (with == "no log") std::filesystem::remove(log);
  if (with == "its log") std::filesystem::rename(older.File("ledger-wal"), log);
  std::filesystem::rename(older.File("ledger"), options_.location);
  EXPECT_THAT(ChargeOne(*ledger, {1}), StatusIs(StatusCode::kDataLoss, HasSubstr("replaced")));
  EXPECT_FALSE(ledger->Recover().ok());
  EXPECT_FALSE(ledger->Recover().ok()) << "however often";
  EXPECT_FALSE(ChargeOne(*ledger, {1}).ok());
  ledger.reset();
  EXPECT_THAT(DurableLedger::Open(options_), StatusIs(StatusCode::kDataLoss, _));
}

INSTANTIATE_TEST_SUITE_P(With, SqliteOlderCopyTest,
                         ::testing::Values("no log", "its log", "the log that is written"));

TEST_F(SqliteLedgerTest, ClosingLeavesWhatOthersPutInItsPlace) {
  Create({100});
  auto ledger = Open();
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  const base::TemporaryDirectory copy;
  for (const char* suffix : {"", "-wal"}) {  // whole, but another file
    CopyLedger(options_.location + suffix, copy.File("ledger") + suffix);
    std::filesystem::rename(copy.File("ledger") + suffix, options_.location + suffix);
  }
  ledger.reset();
  EXPECT_TRUE(std::filesystem::exists(options_.location + "-wal"));
  EXPECT_EQ(SpentOf(*Open()), (Units{1}));
}

TEST_F(SqliteLedgerTest, AFullDiskMakesNoLedger) {
  {
    const FullDisk full(6000);
    EXPECT_THAT(DurableLedger::Create(options_, Parts({100}), "2"),
                StatusIs(StatusCode::kResourceExhausted, _));
  }
  EXPECT_FALSE(std::filesystem::exists(options_.location));
  Create({100});
}

TEST_F(SqliteLedgerTest, AReadOnlyFileIsRefused) {
  Create({100});
  std::filesystem::remove(options_.location + ".lock");
  using std::filesystem::permissions;
  using std::filesystem::perms;
  const perms readable = perms::owner_read | perms::group_read | perms::others_read;
  const perms writable = readable | perms::owner_write | perms::group_write | perms::others_write;
  permissions(directory_.path(), perms::all);
  const auto refused = ::testing::ExitedWithCode(static_cast<int>(StatusCode::kFailedPrecondition));

  permissions(options_.location, readable);
  permissions(options_.anchor_path, writable);
  EXPECT_EXIT(ExitWithCodeOfOpen(options_), refused, "");
  permissions(options_.location, writable);
  permissions(options_.anchor_path, readable);
  EXPECT_EXIT(ExitWithCodeOfOpen(options_), refused, "");
}

}  // namespace sqlite_ledger_test
}  // namespace submix::ledger
