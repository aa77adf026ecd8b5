#include <chrono>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "submix/ledger/postgres_connection.h"
#include "submix/ledger/postgres_tables.h"
#include "submix/ledger/testing/commit_cutter.h"
#include "submix/ledger/testing/ledger_fixture.h"
#include "submix/ledger/testing/postgres_server.h"

namespace submix::ledger {
namespace postgres_ledger_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PostgresLedgerTest : public LedgerFixture {
 protected:
  void SetUp() override {
    if (!PostgresServer::IsInstalled()) GTEST_SKIP() << "PostgreSQL is not installed";
    options_.location = SharedPostgresServer().NewSchema();
  }

  std::string Sql(const std::string& statements) const {
    return SharedPostgresServer().Sql(options_.location, statements);
  }

  // The options of another server: the same database, an anchor of its own.
  DurableLedgerOptions Replica() const {
    DurableLedgerOptions replica = options_;
    replica.anchor_path = directory_.File("replica's anchor");
    std::filesystem::copy_file(options_.anchor_path, replica.anchor_path,
                               std::filesystem::copy_options::overwrite_existing);
    return replica;
  }

  std::unique_ptr<DurableLedger> OpenReplica() {
    auto ledger = DurableLedger::Open(Replica());
    EXPECT_THAT(ledger, base::IsOk());
    return ledger.ok() ? std::move(ledger).value() : nullptr;
  }

  // What a backup taken now would bring back.
  void BackUp() {
    Sql("CREATE TABLE old_records AS SELECT * FROM submix_records;"
        "CREATE TABLE old_accounts AS SELECT * FROM submix_accounts");
  }
  void RestoreBackup() {
    Sql("TRUNCATE submix_records, submix_accounts;"
        "INSERT INTO submix_records SELECT * FROM old_records;"
        "INSERT INTO submix_accounts SELECT * FROM old_accounts");
  }
};

TEST_F(PostgresLedgerTest, SeveralServersChargeOneBudget) {
  Create({100, 1000});
  const auto first = Open();
  const auto second = OpenReplica();
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto receipts, ChargeOne(*first, {60, 1}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(receipts, ChargeOne(*second, {60, 1}));
  EXPECT_EQ(receipts[0].paid(), (std::vector<bool>{false, true})) << "the first has spent it";
  EXPECT_EQ(receipts[0].record(), 3) << "one order for both";
  SUBMIX_ASSERT_OK_AND_ASSIGN(receipts, ChargeOne(*first, {40, 1}));
  EXPECT_EQ(receipts[0].paid(), (std::vector<bool>{true, true}));
  EXPECT_EQ(SpentOf(*second), (Units{100, 3}));
  SUBMIX_EXPECT_OK(second->Verify());
}

TEST_F(PostgresLedgerTest, ManySequencesAndPartsAreOneTransaction) {
  constexpr std::size_t kParts = 65;
  Create(Units(kParts, 1'000'000));
  const auto ledger = Open();
  const auto charges = Amounts(Units(kParts, 3));
  std::vector<ChargeRequest> step;
  for (std::uint64_t i = 0; i < 64; ++i) {
    step.push_back({{~0ULL - i, i}, accounting::ChargeRule::kPerPart, charges});
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipts, ledger->Charge(step));
  EXPECT_EQ(receipts.size(), 64U);
  EXPECT_EQ(SpentOf(*ledger), Units(kParts, 192));
  EXPECT_EQ(Sql("SELECT count(*) FROM submix_records"), "2\n");
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(PostgresLedgerTest, VerifiesAChainOfManyPages) {
  Create({1'000'000});
  const auto ledger = Open();
  for (int i = 0; i < 300; ++i) SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  SUBMIX_EXPECT_OK(ledger->Verify());
  Sql("UPDATE submix_records SET payload = payload || '\\x00' WHERE number = 270");
  EXPECT_THAT(ledger->Verify(), StatusIs(StatusCode::kDataLoss, HasSubstr("record 270")));
  Sql("DELETE FROM submix_records WHERE number = 200");
  EXPECT_THAT(ledger->Verify(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("record 200: is missing")));
}

class PostgresForgeryTest : public PostgresLedgerTest,
                            public ::testing::WithParamInterface<const char*> {};

TEST_P(PostgresForgeryTest, AnEditedTableIsRefused) {
  Create({100, 100});
  const auto ledger = Open();
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1, 2}));
  Sql(GetParam());
  EXPECT_THAT(ChargeOne(*ledger, {1, 1}), StatusIs(StatusCode::kDataLoss, _));
  EXPECT_THAT(ledger->Accounts(), StatusIs(StatusCode::kDataLoss, _));
  EXPECT_THAT(ledger->Verify(), StatusIs(StatusCode::kDataLoss, _));
  EXPECT_THAT(DurableLedger::Open(options_), StatusIs(StatusCode::kDataLoss, _));
  EXPECT_THAT(DurableLedger::OpenReadOnly(options_), StatusIs(StatusCode::kDataLoss, _));
}

INSTANTIATE_TEST_SUITE_P(
    Edits, PostgresForgeryTest,
    ::testing::Values("UPDATE submix_accounts SET spent = 0 WHERE part = 1",
                      "UPDATE submix_accounts SET budget = budget + 1 WHERE part = 0",
                      "UPDATE submix_accounts SET name = 'another' WHERE part = 0",
                      "UPDATE submix_accounts SET spent = -1 WHERE part = 0",
                      "DELETE FROM submix_accounts WHERE part = 0",
                      "INSERT INTO submix_accounts VALUES (2, 'part 2', 100, 0)",
                      "DELETE FROM submix_ledger", "UPDATE submix_ledger SET order_text = '3'",
                      "UPDATE submix_ledger SET lineage = '\\x00'", "DELETE FROM submix_records",
                      "DELETE FROM submix_records WHERE number = 2",
                      "UPDATE submix_records SET payload = '\\x00' WHERE number = 2",
                      "INSERT INTO submix_records VALUES (40, '\\x00', '\\x00', '\\x00')",
                      "ALTER TABLE submix_accounts RENAME spent TO spend"));

TEST_F(PostgresLedgerTest, RefusesANewerFormat) {
  Create({100});
  const auto ledger = Open();
  Sql("UPDATE submix_ledger SET format = 3");
  const auto is_newer = StatusIs(StatusCode::kFailedPrecondition, HasSubstr("upgrade"));
  EXPECT_THAT(DurableLedger::Open(options_), is_newer);
  EXPECT_THAT(ChargeOne(*ledger, {1}), is_newer);
}

TEST_F(PostgresLedgerTest, ARestoredBackupIsNoticedByWhoSawMore) {
  Create({100});
  const auto ledger = Open();
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  BackUp();
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  RestoreBackup();
  const auto older = StatusIs(StatusCode::kDataLoss, HasSubstr("older copy of the ledger"));
  EXPECT_THAT(ChargeOne(*ledger, {1}), older);
  EXPECT_THAT(ledger->Accounts(), older);
  EXPECT_THAT(DurableLedger::Open(options_), older);
  EXPECT_THAT(DurableLedger::OpenReadOnly(options_), older);
}

TEST_F(PostgresLedgerTest, ARestoredBackupThatAnotherChargedIsNoticed) {
  Create({100});
  const DurableLedgerOptions unaware = Replica();
  const auto ledger = Open();
  BackUp();
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  RestoreBackup();
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto other, DurableLedger::Open(unaware));
    for (int i = 0; i < 3; ++i) SUBMIX_ASSERT_OK(ChargeOne(*other, {2}));
  }
  const auto charged =
      StatusIs(StatusCode::kDataLoss, HasSubstr("an older copy of the ledger was charged"));
  EXPECT_THAT(ChargeOne(*ledger, {1}), charged);
  EXPECT_THAT(DurableLedger::Open(options_), charged);
}

TEST_F(PostgresLedgerTest, RebindingEndsTheServersOfTheOldGeneration) {
  Create({100});
  const auto old_generation = OpenReplica();
  const auto ledger = Open();
  SUBMIX_ASSERT_OK(ChargeOne(*old_generation, {1}));
  SUBMIX_ASSERT_OK(ledger->Rebind(base::Sha256("after forget")));
  EXPECT_THAT(ChargeOne(*old_generation, {1}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another deployment")));
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  EXPECT_EQ(SpentOf(*ledger), (Units{2}));
}

// As poolers, firewalls, time limits and restarts end connections in quiet hours.
TEST_F(PostgresLedgerTest, AConnectionThatEndedWhileIdleIsReplacedAndCostsNothing) {
  Create({100});
  const auto ledger = Open();
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  const auto terminate = [&] {
    EXPECT_NE(Sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                  "WHERE application_name = 'submix'"),
              "0\n");
  };
  for (std::int64_t spent = 2; spent < 5; ++spent) {
    terminate();
    SUBMIX_EXPECT_OK(ChargeOne(*ledger, {1}));
    EXPECT_EQ(SpentOf(*ledger), (Units{spent})) << "charged once";
  }
  terminate();
  SUBMIX_EXPECT_OK(ledger->Accounts());
  terminate();
  SUBMIX_EXPECT_OK(ledger->Recover());
  PostgresServer& server = SharedPostgresServer();
  server.Stop(SIGINT);
  server.Start();
  SUBMIX_EXPECT_OK(ChargeOne(*ledger, {1}));
  EXPECT_EQ(SpentOf(*ledger), (Units{5}));
  EXPECT_EQ(Sql("SELECT count(*) FROM submix_records"), "6\n");
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(PostgresLedgerTest, ARestartedDatabaseIsUsedAgain) {
  Create({100});
  const auto ledger = Open();
  PostgresServer& server = SharedPostgresServer();
  std::int64_t charged = 0;
  for (const int signal : {SIGINT, SIGQUIT}) {
    SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
    server.Stop(signal);
    EXPECT_THAT(ChargeOne(*ledger, {1}), StatusIs(StatusCode::kUnavailable, _));
    EXPECT_THAT(ledger->Accounts(), StatusIs(StatusCode::kUnavailable, _));
    EXPECT_THAT(ledger->Verify(), StatusIs(StatusCode::kUnavailable, _));
    EXPECT_THAT(DurableLedger::Open(options_), StatusIs(StatusCode::kUnavailable, _));
    server.Start();
    SUBMIX_EXPECT_OK(ChargeOne(*ledger, {1}));
    charged += 2;
    EXPECT_EQ(SpentOf(*ledger), (Units{charged}));
  }
  SUBMIX_EXPECT_OK(ledger->Verify());
}

// A commit whose answer is lost: no receipt, whatever became of it, and the next charge knows.
TEST_F(PostgresLedgerTest, ACommitOfUnknownOutcomeIsNeverGranted) {
  Create({100});
  CommitCutter cutter(SharedPostgresServer().SocketPath());
  DurableLedgerOptions through_cutter = options_;
  const std::size_t host = through_cutter.location.find("host=") + 5;
  through_cutter.location.replace(host, std::string::npos, cutter.host());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto ledger, DurableLedger::Open(through_cutter));
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  std::int64_t spent = 1;
  for (const auto when : {CommitCutter::When::kBefore, CommitCutter::When::kAfter}) {
    cutter.Cut(when);
    EXPECT_THAT(ChargeOne(*ledger, {10}),
                StatusIs(StatusCode::kUnavailable, HasSubstr("outcome is unknown")));
    if (when == CommitCutter::When::kAfter) spent += 10;
    EXPECT_EQ(SpentOf(*ledger), (Units{spent}));
    SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
    ++spent;
  }
  EXPECT_EQ(SpentOf(*ledger), (Units{spent}));
  SUBMIX_EXPECT_OK(Open()->Verify());
}

// Its connection stays open, as one to a server whose storage hangs.
TEST_F(PostgresLedgerTest, ACommitThatIsNeverAnsweredIsGivenUpAndNeverGranted) {
  Create({100});
  CommitCutter cutter(SharedPostgresServer().SocketPath());
  DurableLedgerOptions through_cutter = options_;
  const std::size_t host = through_cutter.location.find("host=") + 5;
  through_cutter.location.replace(host, std::string::npos, cutter.host() + "&connect_timeout=2");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto ledger, DurableLedger::Open(through_cutter));
  cutter.Cut(CommitCutter::When::kSilent);
  EXPECT_THAT(ChargeOne(*ledger, {10}),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("no answer within 2 s"), HasSubstr("outcome is unknown"))));
  SUBMIX_ASSERT_OK(ledger->Recover());
  EXPECT_EQ(SpentOf(*ledger), (Units{10})) << "the server had done it";
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  EXPECT_EQ(SpentOf(*ledger), (Units{11}));
  SUBMIX_EXPECT_OK(Open()->Verify());
}

TEST_F(PostgresLedgerTest, AFrozenDatabaseIsGivenUpAndUsedAgain) {
  options_.location += "&connect_timeout=1";
  Create({100});
  const auto ledger = Open();
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  PostgresServer& server = SharedPostgresServer();
  server.Freeze();
  EXPECT_THAT(ChargeOne(*ledger, {10}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("no answer within 1 s")));
  // These connect anew: the kernel takes the connection, and nobody answers.
  EXPECT_THAT(ledger->Accounts(), StatusIs(StatusCode::kUnavailable, HasSubstr("timeout")));
  EXPECT_THAT(ledger->Recover(), StatusIs(StatusCode::kUnavailable, _));
  EXPECT_THAT(ledger->Verify(), StatusIs(StatusCode::kUnavailable, _));
  EXPECT_THAT(DurableLedger::Open(options_), StatusIs(StatusCode::kUnavailable, _));
  server.Thaw();
  base::Status status = ledger->Recover();
  for (int attempt = 0; attempt < 30 && !status.ok(); ++attempt) status = ledger->Recover();
  SUBMIX_ASSERT_OK(status);
  EXPECT_EQ(SpentOf(*ledger), (Units{1})) << "what never began was not charged";
  SUBMIX_EXPECT_OK(ChargeOne(*ledger, {1}));
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(PostgresLedgerTest, WhoWouldWaitForEverIsRefused) {
  for (const char* seconds : {"0", "-1", "soon", "", "1.5", "3601", "99999999999"}) {
    options_.location = "postgresql://db/ledger?connect_timeout=" + std::string(seconds);
    EXPECT_THAT(DurableLedger::Create(options_, Parts({100}), "2"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("connect_timeout")))
        << seconds;
  }
}

TEST_F(PostgresLedgerTest, WhoSleepsWithTheLockLosesItsTransaction) {
  Create({100});
  const auto ledger = Open();
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto connection, PostgresConnection::Open(options_.location));
  PostgresTables sleeper(std::move(connection));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const StoredLedger before, sleeper.BeginCharge(1));
  // Waits for the lock as long as the sleeper may keep it: whoever gives up first, the next call
  // finds it free.
  const base::Status waited = ChargeOne(*ledger, {1}).status();
  if (!waited.ok()) {
    EXPECT_THAT(waited, StatusIs(StatusCode::kUnavailable, _));
    SUBMIX_EXPECT_OK(ChargeOne(*ledger, {1}));
  }
  LedgerState after = before.state;
  after.accounts[0].spent = accounting::FixedNats::FromUnits(50);
  const Record late = ChainRecord({before.newest.number, before.newest.hash}, "late");
  EXPECT_THAT(sleeper.Write(late, before.state, after), StatusIs(StatusCode::kUnavailable, _));
  EXPECT_EQ(SpentOf(*ledger), (Units{1}));
}

TEST_F(PostgresLedgerTest, TheDatabaseItselfRefusesToOverspend) {
  Create({100, 100});
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto connection, PostgresConnection::Open(options_.location));
  PostgresTables tables(std::move(connection));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const StoredLedger before, tables.BeginCharge(1));
  LedgerState after = before.state;
  after.accounts[1].spent = accounting::FixedNats::FromUnits(101);
  const Record record = ChainRecord({before.newest.number, before.newest.hash}, "too much");
  EXPECT_THAT(tables.Write(record, before.state, after), StatusIs(StatusCode::kDataLoss, _));
}

TEST_F(PostgresLedgerTest, WithoutItsAnchorItRefusesUntilRecovered) {
  Create({100});
  const auto ledger = Open();
  const std::string aside = directory_.File("aside");
  std::filesystem::rename(options_.anchor_path, aside);
  EXPECT_THAT(ChargeOne(*ledger, {1}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("recovered")));
  EXPECT_FALSE(ledger->Recover().ok());
  std::filesystem::rename(aside, options_.anchor_path);
  EXPECT_THAT(ChargeOne(*ledger, {1}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("recovered")));
  SUBMIX_ASSERT_OK(ledger->Recover());
  EXPECT_EQ(SpentOf(*ledger), (Units{1})) << "one step at most is charged for nothing";
  SUBMIX_EXPECT_OK(ChargeOne(*ledger, {1}));
}

TEST_F(PostgresLedgerTest, TheDatabasesDefaultsDoNotWeakenIt) {
  options_.location = SharedPostgresServer().NewDatabase();
  Sql("ALTER DATABASE " + Sql("SELECT current_database()") +
      " SET synchronous_commit = off; ALTER DATABASE " + Sql("SELECT current_database()") +
      " SET default_transaction_isolation = serializable; ALTER DATABASE " +
      Sql("SELECT current_database()") + " SET default_transaction_read_only = on");
  Create({100});
  // What a charge's transaction runs with, seen by a trigger within.
  Sql("BEGIN READ WRITE; CREATE TABLE seen (synchronous_commit text);"
      "CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;"
      "CREATE TRIGGER see AFTER INSERT ON submix_records EXECUTE FUNCTION see(); COMMIT");
  const auto first = Open();
  const auto second = OpenReplica();
  SUBMIX_ASSERT_OK(ChargeOne(*first, {1}));
  SUBMIX_ASSERT_OK(ChargeOne(*second, {1}));
  SUBMIX_ASSERT_OK(ChargeOne(*first, {1}));
  EXPECT_EQ(Sql("SELECT DISTINCT synchronous_commit FROM seen"), "on\n");
}

TEST_F(PostgresLedgerTest, ADatabaseThatDoesNotSyncIsNotCharged) {
  Create({100});
  const auto ledger = Open();
  Sql("ALTER SYSTEM SET fsync = off");
  Sql("SELECT pg_reload_conf()");
  base::Status status;
  for (int attempt = 0; attempt < 200 && status.ok(); ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    status = ChargeOne(*ledger, {0}).status();
  }
  EXPECT_THAT(status, StatusIs(StatusCode::kFailedPrecondition, HasSubstr("set fsync = on")));
  Sql("ALTER SYSTEM RESET fsync");
  Sql("SELECT pg_reload_conf()");
  for (int attempt = 0; attempt < 200 && !status.ok(); ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    status = ChargeOne(*ledger, {0}).status();
  }
  SUBMIX_EXPECT_OK(status);
}

TEST_F(PostgresLedgerTest, AServerNeedsOnlyTheRightsOfTheManual) {
  options_.location = SharedPostgresServer().NewDatabase();
  Create({100});
  Sql("CREATE ROLE server LOGIN; CREATE ROLE auditor LOGIN;"
      "GRANT SELECT ON submix_ledger, submix_accounts, submix_records TO server, auditor;"
      "GRANT INSERT ON submix_records TO server;"
      "GRANT UPDATE (spent) ON submix_accounts TO server;"
      "GRANT UPDATE (fingerprint) ON submix_ledger TO server");
  const auto as = [&](const std::string& role) {
    DurableLedgerOptions options = options_;
    options.location.replace(options.location.find("postgres@"), 8, role);
    return options;
  };
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto server, DurableLedger::Open(as("server")));
  SUBMIX_ASSERT_OK(ChargeOne(*server, {1}));
  SUBMIX_ASSERT_OK(server->Rebind(base::Sha256("after forget")));
  options_.fingerprint = base::Sha256("after forget");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto auditor, DurableLedger::OpenReadOnly(as("auditor")));
  EXPECT_EQ(SpentOf(*auditor), (Units{1}));
  SUBMIX_EXPECT_OK(auditor->Verify());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto overreaching, DurableLedger::Open(as("auditor")));
  EXPECT_THAT(ChargeOne(*overreaching, {1}), StatusIs(StatusCode::kFailedPrecondition, _));
}

TEST_F(PostgresLedgerTest, OnlyWhoChargesMustBeAbleToWriteTheAnchor) {
  Create({100});
  using std::filesystem::perms;
  std::filesystem::permissions(directory_.path(), perms::all);
  std::string sockets = Sql("SHOW unix_socket_directories");
  sockets.resize(sockets.find('\n'));
  std::filesystem::permissions(sockets, perms::others_exec, std::filesystem::perm_options::add);
  std::filesystem::permissions(options_.anchor_path,
                               perms::owner_read | perms::group_read | perms::others_read);
  EXPECT_EXIT(ExitWithCodeOfOpen(options_),
              ::testing::ExitedWithCode(static_cast<int>(StatusCode::kFailedPrecondition)), "");
  EXPECT_EXIT(ExitWithCodeOfOpen(options_, DurableLedger::OpenReadOnly),
              ::testing::ExitedWithCode(static_cast<int>(StatusCode::kOk)), "");
}

TEST_F(PostgresLedgerTest, APasswordIsRefusedAndNeverShown) {
  const auto refused =
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("pgpass"), Not(HasSubstr("hush"))));
  for (const char* location :
       {"postgresql://server:hush@db/ledger", "postgres://db/ledger?password=hush",
        "postgresql://db/ledger?sslpassword=hush"}) {
    options_.location = location;
    EXPECT_THAT(DurableLedger::Create(options_, Parts({100}), "2"), refused);
    EXPECT_THAT(DurableLedger::Open(options_), refused);
    EXPECT_THAT(DurableLedger::OpenReadOnly(options_), refused);
    EXPECT_THAT(DurableLedger::RestoreAnchor(options_), refused);
  }
  // Nor what cannot be read, which may hold one anywhere.
  for (const char* location : {"postgresql://server:hush@@db/?what=hush", "postgresql://[hush"}) {
    options_.location = location;
    EXPECT_THAT(DurableLedger::Open(options_),
                StatusIs(StatusCode::kInvalidArgument, Not(HasSubstr("hush"))));
  }
}

TEST_F(PostgresLedgerTest, AnUnreachableServerIsNamedOnOneLine) {
  Create({100});
  options_.location = "postgresql://someone@127.0.0.1:1/ledger";
  EXPECT_THAT(DurableLedger::Open(options_),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("postgresql://127.0.0.1:1/ledger: PostgreSQL: "),
                             Not(HasSubstr("\n")))));
}

}  // namespace postgres_ledger_test
}  // namespace submix::ledger
