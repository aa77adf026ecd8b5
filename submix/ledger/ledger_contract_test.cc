// What every ledger does, wherever it keeps its records, and what every durable one does.
#include <filesystem>

#include <gtest/gtest.h>

#include "submix/ledger/anchor.h"
#include "submix/ledger/memory_ledger.h"
#include "submix/ledger/testing/ledger_fixture.h"
#include "submix/ledger/testing/postgres_server.h"

namespace submix::ledger {
namespace ledger_contract_test {

using accounting::ChargeRule;
using accounting::FixedNats;
using base::StatusCode;
using base::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Values;

enum class Store { kMemory, kSqlite, kPostgres };

std::string NameOf(const ::testing::TestParamInfo<Store>& info) {
  switch (info.param) {
    case Store::kMemory:
      return "Memory";
    case Store::kSqlite:
      return "Sqlite";
    case Store::kPostgres:
      return "Postgres";
  }
  return "";
}

class DurableLedgerTest : public LedgerFixture, public ::testing::WithParamInterface<Store> {
 protected:
  void SetUp() override {
    if (GetParam() != Store::kPostgres) return;
    if (!PostgresServer::IsInstalled()) GTEST_SKIP() << "PostgreSQL is not installed";
    options_.location = NewLocation();
  }

  std::string NewLocation() {
    if (GetParam() == Store::kPostgres) return SharedPostgresServer().NewSchema();
    return directory_.File("ledger" + std::to_string(++locations_) + ".sqlite");
  }

 private:
  int locations_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Stores, DurableLedgerTest, Values(Store::kSqlite, Store::kPostgres),
                         NameOf);

class LedgerContractTest : public DurableLedgerTest {
 protected:
  // Open, with accounts of this budget each.
  std::unique_ptr<Ledger> MakeLedger(int num_parts, std::int64_t budget) {
    if (GetParam() == Store::kMemory) {
      return MakeMemoryLedger(num_parts, FixedNats::FromUnits(budget));
    }
    Create(Units(static_cast<std::size_t>(num_parts), budget));
    return Open();
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, LedgerContractTest,
                         Values(Store::kMemory, Store::kSqlite, Store::kPostgres), NameOf);

TEST_P(LedgerContractTest, ChargesEachPartThatCanPay) {
  const auto ledger = MakeLedger(2, 10);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipts, ChargeOne(*ledger, {4, 11}));
  ASSERT_EQ(receipts.size(), 1U);
  EXPECT_EQ(receipts[0].paid(), (std::vector<bool>{true, false}));
  EXPECT_EQ(receipts[0].charges(), Amounts({4, 0}));
  EXPECT_EQ(SpentOf(*ledger), (Units{4, 0}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto remaining, ledger->Remaining());
  EXPECT_EQ(remaining, Amounts({6, 10}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto accounts, ledger->Accounts());
  EXPECT_EQ(accounts[1].name, "part 1");
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_P(LedgerContractTest, MovesItsHeadWithEveryStep) {
  const auto ledger = MakeLedger(1, 10);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto before, ledger->head());
  SUBMIX_ASSERT_OK(ChargeOne(*ledger, {1}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto after, ledger->head());
  EXPECT_EQ(before.records, 1);
  EXPECT_EQ(after.records, 2);
  EXPECT_NE(before.hash, after.hash);
}

TEST_P(LedgerContractTest, ChargesAWholeStepInOneRecord) {
  const auto ledger = MakeLedger(2, 10);
  const auto charges = Amounts({4, 2});
  std::vector<ChargeRequest> step;
  for (std::uint64_t i = 0; i < 4; ++i) step.push_back({{7, i}, ChargeRule::kPerPart, charges});
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipts, ledger->Charge(step));
  ASSERT_EQ(receipts.size(), 4U);
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(receipts[i].release_id(), (base::ReleaseId{7, i}));
    EXPECT_EQ(receipts[i].record(), 2);
    EXPECT_EQ(receipts[i].paid(), (std::vector<bool>{i < 2, true})) << "earlier slots count first";
  }
  EXPECT_EQ(SpentOf(*ledger), (Units{8, 8}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto head, ledger->head());
  EXPECT_EQ(head.records, 2);
}

TEST_P(LedgerContractTest, AnEmptyStepIsNoRecord) {
  const auto ledger = MakeLedger(1, 100);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipts, ledger->Charge({}));
  EXPECT_TRUE(receipts.empty());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto head, ledger->head());
  EXPECT_EQ(head.records, 1);
}

TEST_P(DurableLedgerTest, KeepsWhatWasChargedAcrossReopening) {
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

TEST_P(DurableLedgerTest, DecidesEachPartByItself) {
  Create({100, 10, 0});
  const auto ledger = Open();
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto receipts, ChargeOne(*ledger, {10, 10, 0}));
  EXPECT_EQ(receipts[0].paid(), (std::vector<bool>{true, true, true})) << "exactly what is left";
  SUBMIX_ASSERT_OK_AND_ASSIGN(receipts, ChargeOne(*ledger, {10, 1, 1}));
  EXPECT_EQ(receipts[0].paid(), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(receipts[0].charges(), Amounts({10, 0, 0}));
  EXPECT_EQ(SpentOf(*ledger), (Units{20, 10, 0}));
}

TEST_P(DurableLedgerTest, AStopIsForEver) {
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

TEST_P(DurableLedgerTest, RefusesAStepThatDoesNotFitAndGoesOn) {
  Create({100, 100});
  const auto ledger = Open();
  EXPECT_THAT(ChargeOne(*ledger, {1}), StatusIs(StatusCode::kInvalidArgument, _));
  SUBMIX_EXPECT_OK(ChargeOne(*ledger, {1, 1}));
  EXPECT_EQ(SpentOf(*ledger), (Units{1, 1}));
}

TEST_P(DurableLedgerTest, CarriesOverWhatWasSpentElsewhere) {
  Create({100, 100, 100}, {30, 100, 120});
  const auto ledger = Open();
  EXPECT_EQ(SpentOf(*ledger), (Units{30, 100, 120}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto remaining, ledger->Remaining());
  EXPECT_EQ(remaining, Amounts({70, 0, 0}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto receipts, ChargeOne(*ledger, {70, 1, 1}));
  EXPECT_EQ(receipts[0].paid(), (std::vector<bool>{true, false, false}));
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_P(DurableLedgerTest, CreateRefusesAccountsThatCannotBe) {
  EXPECT_THAT(DurableLedger::Create(options_, {}, "2"), StatusIs(StatusCode::kInvalidArgument, _));
  auto parts = Parts({100});
  parts[0].budget = FixedNats::Unpayable();
  EXPECT_THAT(DurableLedger::Create(options_, parts, "2"),
              StatusIs(StatusCode::kInvalidArgument, _));
  parts = Parts({100});
  parts[0].name.assign(70000, 'x');
  EXPECT_THAT(DurableLedger::Create(options_, parts, "2"),
              StatusIs(StatusCode::kInvalidArgument, _));
  EXPECT_FALSE(std::filesystem::exists(options_.anchor_path));
}

TEST_P(DurableLedgerTest, CreateLeavesNothingBehindWhenItFails) {
  options_.anchor_path = directory_.File("no such folder/anchor");
  EXPECT_FALSE(DurableLedger::Create(options_, Parts({100}), "2").ok());
  EXPECT_FALSE(std::filesystem::exists(options_.location));
  EXPECT_FALSE(std::filesystem::exists(options_.location + ".new"));
  options_.anchor_path = directory_.File("anchor");
  Create({100});
}

TEST_P(DurableLedgerTest, ReadersSeeCommittedStatesBesideTheWriter) {
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

TEST_P(DurableLedgerTest, OpensOnlyForItsOwnDeployment) {
  Create({100});
  DurableLedgerOptions other = options_;
  other.fingerprint = base::Sha256("another deployment");
  EXPECT_THAT(DurableLedger::Open(other),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another deployment")));
  EXPECT_THAT(DurableLedger::OpenReadOnly(other), StatusIs(StatusCode::kFailedPrecondition, _));
}

TEST_P(DurableLedgerTest, RebindingKeepsEverythingSpent) {
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

TEST_P(DurableLedgerTest, EachLedgerHasALineageOfItsOwn) {
  Create({100});
  const std::string first = Open()->lineage();
  options_.location = NewLocation();
  options_.anchor_path = directory_.File("other.anchor");
  Create({100});
  EXPECT_EQ(first.size(), 32U);
  EXPECT_NE(first, Open()->lineage());
}

TEST_P(DurableLedgerTest, ALostLedgerIsNoReasonForAFreshBudget) {
  Create({100});
  EXPECT_THAT(DurableLedger::Create(options_, Parts({100}), "2"),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("never started anew")));
  options_.location = NewLocation();
  EXPECT_THAT(DurableLedger::Create(options_, Parts({100}), "2"),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr(options_.anchor_path)));
  options_.anchor_path = directory_.File("another anchor");
  Create({100});
}

// Its anchor says that there was one: it is to be restored, not made.
TEST_P(DurableLedgerTest, AMissingLedgerIsToBeRestored) {
  SUBMIX_ASSERT_OK(CreateAnchor(options_.anchor_path, {}));
  const auto to_be_restored =
      StatusIs(StatusCode::kNotFound,
               ::testing::AllOf(HasSubstr("docs/operating.md, Restore"), Not(HasSubstr("deploy"))));
  EXPECT_THAT(DurableLedger::Open(options_), to_be_restored);
  EXPECT_THAT(DurableLedger::OpenReadOnly(options_), to_be_restored);
}

TEST_P(DurableLedgerTest, AMissingAnchorIsRefusedUntilTheOperatorVouches) {
  Create({100});
  SUBMIX_ASSERT_OK(ChargeOne(*Open(), {7}));
  std::filesystem::remove(options_.anchor_path);
  EXPECT_THAT(DurableLedger::Open(options_),
              StatusIs(StatusCode::kDataLoss, HasSubstr("anchor is missing")));
  EXPECT_THAT(DurableLedger::OpenReadOnly(options_), StatusIs(StatusCode::kDataLoss, _));
  SUBMIX_ASSERT_OK(DurableLedger::RestoreAnchor(options_));
  EXPECT_EQ(SpentOf(*Open()), (Units{7}));
  EXPECT_THAT(DurableLedger::RestoreAnchor(options_), StatusIs(StatusCode::kAlreadyExists, _));
}

TEST_P(DurableLedgerTest, AnotherLedgersAnchorIsRefused) {
  Create({100});
  DurableLedgerOptions other = options_;
  other.location = NewLocation();
  other.anchor_path = directory_.File("other.anchor");
  SUBMIX_ASSERT_OK(DurableLedger::Create(other, Parts({100}), "2"));
  other.anchor_path = options_.anchor_path;
  EXPECT_THAT(DurableLedger::Open(other),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("belongs to another ledger")));
}

TEST_P(DurableLedgerTest, AnAnchorLeftBehindByACrashIsAdvanced) {
  Create({100});
  const std::string behind = directory_.File("behind");
  std::filesystem::copy_file(options_.anchor_path, behind);
  SUBMIX_ASSERT_OK(ChargeOne(*Open(), {1}));
  std::filesystem::rename(behind, options_.anchor_path);
  const auto ledger = Open();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const AnchorPosition position, ReadAnchor(options_.anchor_path));
  EXPECT_EQ(position.head.records, 2);
}

}  // namespace ledger_contract_test
}  // namespace submix::ledger
