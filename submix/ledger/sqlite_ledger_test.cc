#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "submix/base/file_system.h"
#include "submix/ledger/durable_ledger.h"
#include "submix/ledger/sqlite_connection.h"
#include "submix/ledger/testing/ledger_fixture.h"

namespace submix::ledger {
namespace {

using accounting::ChargeRule;
using accounting::FixedNats;
using base::StatusCode;
using base::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;

using SqliteLedgerTest = LedgerFixture;

TEST_F(SqliteLedgerTest, KeepsWhatWasChargedAcrossReopening) {
  Create({100, 100});
  {
    const auto ledger = Open();
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipts, ChargeOne(*ledger, {10, 20}));
    EXPECT_EQ(receipts[0].charges(), Amounts({10, 20}));
    EXPECT_EQ(receipts[0].record(), 2);
  }
  const auto ledger = Open();
  EXPECT_EQ(SpentOf(*ledger), (Units{10, 20}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto remaining, ledger->Remaining());
  EXPECT_EQ(remaining, Amounts({90, 80}));
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(SqliteLedgerTest, DecidesEachPartByItself) {
  Create({100, 10, 0});
  const auto ledger = Open();
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto receipts, ChargeOne(*ledger, {10, 10, 0}));
  EXPECT_EQ(receipts[0].paid(), (std::vector<bool>{true, true, true})) << "exactly what is left";
  SUBMIX_ASSERT_OK_AND_ASSIGN(receipts, ChargeOne(*ledger, {10, 1, 1}));
  EXPECT_EQ(receipts[0].paid(), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(receipts[0].charges(), Amounts({10, 0, 0}));
  EXPECT_EQ(SpentOf(*ledger), (Units{20, 10, 0}));
}

TEST_F(SqliteLedgerTest, ChargesAWholeStepInOneRecord) {
  Create({10, 100});
  const auto ledger = Open();
  const auto charges = Amounts({4, 4});
  std::vector<ChargeRequest> step;
  for (std::uint64_t i = 0; i < 4; ++i) step.push_back({{7, i}, ChargeRule::kPerPart, charges});
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipts, ledger->Charge(step));
  ASSERT_EQ(receipts.size(), 4U);
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(receipts[i].release_id(), (base::ReleaseId{7, i}));
    EXPECT_EQ(receipts[i].record(), 2);
    EXPECT_EQ(receipts[i].paid(), (std::vector<bool>{i < 2, true})) << "earlier slots count first";
  }
  EXPECT_EQ(SpentOf(*ledger), (Units{8, 16}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto head, ledger->head());
  EXPECT_EQ(head.records, 2);
}

TEST_F(SqliteLedgerTest, AStopIsForEver) {
  Create({100, 10});
  {
    const auto ledger = Open();
    SUBMIX_ASSERT_OK_AND_ASSIGN(auto receipts, ChargeOne(*ledger, {1, 4}, ChargeRule::kAllOrStop));
    EXPECT_EQ(receipts[0].paid(), (std::vector<bool>{true, true}));
    SUBMIX_ASSERT_OK_AND_ASSIGN(receipts, ChargeOne(*ledger, {1, 7}, ChargeRule::kAllOrStop));
    EXPECT_EQ(receipts[0].paid(), (std::vector<bool>{false, false}));
    EXPECT_EQ(receipts[0].charges(), Amounts({0, 0}));
  }
  const auto ledger = Open();
  EXPECT_EQ(SpentOf(*ledger), (Units{1, 10})) << "the part that could not pay is emptied";
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipts,
                              ChargeOne(*ledger, {1, 1}, ChargeRule::kAllOrStop));
  EXPECT_EQ(receipts[0].paid(), (std::vector<bool>{false, false}));
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(SqliteLedgerTest, AnEmptyStepIsNoRecord) {
  Create({100});
  const auto ledger = Open();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipts, ledger->Charge({}));
  EXPECT_TRUE(receipts.empty());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto head, ledger->head());
  EXPECT_EQ(head.records, 1);
}

TEST_F(SqliteLedgerTest, RefusesAStepThatDoesNotFitAndGoesOn) {
  Create({100, 100});
  const auto ledger = Open();
  EXPECT_THAT(ChargeOne(*ledger, {1}), StatusIs(StatusCode::kInvalidArgument, _));
  SUBMIX_EXPECT_OK(ChargeOne(*ledger, {1, 1}));
  EXPECT_EQ(SpentOf(*ledger), (Units{1, 1}));
}

TEST_F(SqliteLedgerTest, CarriesOverWhatWasSpentElsewhere) {
  Create({100, 100, 100}, {30, 100, 120});
  const auto ledger = Open();
  EXPECT_EQ(SpentOf(*ledger), (Units{30, 100, 120}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto remaining, ledger->Remaining());
  EXPECT_EQ(remaining, Amounts({70, 0, 0}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipts, ChargeOne(*ledger, {70, 1, 1}));
  EXPECT_EQ(receipts[0].paid(), (std::vector<bool>{true, false, false}));
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(SqliteLedgerTest, IsNeverStartedAnew) {
  Create({100});
  EXPECT_THAT(DurableLedger::Create(options_, Parts({100}), "2"),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr(options_.location)));
  std::filesystem::remove(options_.location);
  EXPECT_THAT(DurableLedger::Create(options_, Parts({100}), "2"),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("anchor")))
      << "a lost ledger is no reason for a fresh budget";
}

TEST_F(SqliteLedgerTest, CreateOvercomesWhatACrashLeft) {
  std::ofstream(options_.location + ".new") << "half a file";
  std::ofstream(options_.location + ".new-journal") << "half a journal";
  Create({100});
  EXPECT_FALSE(std::filesystem::exists(options_.location + ".new"));
  SUBMIX_EXPECT_OK(Open()->Verify());
}

TEST_F(SqliteLedgerTest, CreateRefusesAccountsThatCannotBe) {
  EXPECT_THAT(DurableLedger::Create(options_, {}, "2"), StatusIs(StatusCode::kInvalidArgument, _));
  auto parts = Parts({100});
  parts[0].budget = FixedNats::Unpayable();
  EXPECT_THAT(DurableLedger::Create(options_, parts, "2"),
              StatusIs(StatusCode::kInvalidArgument, _));
  parts = Parts({100});
  parts[0].name.assign(70000, 'x');
  EXPECT_THAT(DurableLedger::Create(options_, parts, "2"),
              StatusIs(StatusCode::kInvalidArgument, _));
  EXPECT_FALSE(std::filesystem::exists(options_.location));
}

TEST_F(SqliteLedgerTest, CreateLeavesNothingBehindWhenItFails) {
  options_.anchor_path = directory_.File("no such folder/anchor");
  EXPECT_FALSE(DurableLedger::Create(options_, Parts({100}), "2").ok());
  EXPECT_FALSE(std::filesystem::exists(options_.location));
  EXPECT_FALSE(std::filesystem::exists(options_.location + ".new"));
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
  EXPECT_FALSE(ChargeOne(*second, {60}).ok());
  EXPECT_FALSE(ChargeOne(*second, {1}).ok()) << "it refuses from now on";
  SUBMIX_ASSERT_OK(ChargeOne(*first, {1}));
  EXPECT_EQ(SpentOf(*first), (Units{61}));
  SUBMIX_EXPECT_OK(first->Verify());
}

TEST_F(SqliteLedgerTest, ReadersSeeCommittedStatesBesideTheWriter) {
  Create({100});
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto before_any_writer, DurableLedger::OpenReadOnly(options_));
  EXPECT_EQ(SpentOf(*before_any_writer), (Units{0}));
  const auto writer = Open();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto reader, DurableLedger::OpenReadOnly(options_));
  for (std::int64_t i = 1; i <= 3; ++i) {
    SUBMIX_ASSERT_OK(ChargeOne(*writer, {10}));
    EXPECT_EQ(SpentOf(*reader), (Units{10 * i}));
    EXPECT_EQ(SpentOf(*before_any_writer), (Units{10 * i}));
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto read, reader->head());
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto written, writer->head());
    EXPECT_EQ(read.records, written.records);
    EXPECT_EQ(read.hash, written.hash);
    SUBMIX_EXPECT_OK(reader->Verify());
  }
  EXPECT_EQ(reader->lineage(), writer->lineage());
  EXPECT_THAT(ChargeOne(*reader, {1}), StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_THAT(reader->Rebind({}), StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_EQ(SpentOf(*writer), (Units{30}));
}

TEST_F(SqliteLedgerTest, OpensOnlyForItsOwnDeployment) {
  Create({100});
  DurableLedgerOptions other = options_;
  other.fingerprint = base::Sha256("another deployment");
  EXPECT_THAT(DurableLedger::Open(other),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another deployment")));
  EXPECT_THAT(DurableLedger::OpenReadOnly(other), StatusIs(StatusCode::kFailedPrecondition, _));
}

TEST_F(SqliteLedgerTest, RebindingKeepsEverythingSpent) {
  Create({100, 100});
  const base::Sha256Digest new_fingerprint = base::Sha256("after forget");
  std::string lineage;
  {
    const auto ledger = Open();
    lineage = ledger->lineage();
    SUBMIX_ASSERT_OK(ChargeOne(*ledger, {10, 20}));
    SUBMIX_ASSERT_OK(ledger->Rebind(new_fingerprint));
    SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1, 1}));
    SUBMIX_EXPECT_OK(ledger->Verify());
  }
  EXPECT_THAT(DurableLedger::Open(options_), StatusIs(StatusCode::kFailedPrecondition, _));
  options_.fingerprint = new_fingerprint;
  const auto ledger = Open();
  EXPECT_EQ(SpentOf(*ledger), (Units{11, 21}));
  EXPECT_EQ(ledger->lineage(), lineage);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto head, ledger->head());
  EXPECT_EQ(head.records, 4);
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(SqliteLedgerTest, EachLedgerHasALineageOfItsOwn) {
  Create({100});
  const std::string first = Open()->lineage();
  options_.location = directory_.File("other.sqlite");
  options_.anchor_path = directory_.File("other.anchor");
  Create({100});
  EXPECT_EQ(first.size(), 32U);
  EXPECT_NE(first, Open()->lineage());
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
                       HasSubstr("format 3, this one reads up to 2); upgrade")));
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
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto now,
                                base::PosixFileSystem().ReadFile(options_.location));
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

TEST_F(SqliteLedgerTest, AFullDiskRefusesForGoodAndLosesNothing) {
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
    EXPECT_THAT(failure, StatusIs(StatusCode::kResourceExhausted, HasSubstr("free some space")));
    EXPECT_GT(acknowledged, 0);
    // There is room again, but what became durable is unknown.
    EXPECT_THAT(ChargeOne(*ledger, {1}),
                StatusIs(StatusCode::kResourceExhausted, HasSubstr("opened anew")));
    EXPECT_FALSE(ledger->Accounts().ok());
    EXPECT_FALSE(ledger->head().ok());
    EXPECT_FALSE(ledger->Rebind({}).ok());
  }
  const auto ledger = Open();
  const Units spent = SpentOf(*ledger);
  EXPECT_GE(spent[0], acknowledged);
  EXPECT_LE(spent[0], acknowledged + 1);
  SUBMIX_EXPECT_OK(ledger->Verify());
  SUBMIX_EXPECT_OK(ChargeOne(*ledger, {1}));
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

// What Open says to a user who may not write. Root may always: becomes nobody, in a child process.
void ExitWithCodeOfOpen(const DurableLedgerOptions& options) {
  if (geteuid() == 0 && setuid(65534) != 0) _exit(99);
  _exit(static_cast<int>(DurableLedger::Open(options).status().code()));
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

}  // namespace
}  // namespace submix::ledger
