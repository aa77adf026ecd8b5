// Many threads on one ledger; run under the thread sanitizer (label `thread`).
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "submix/ledger/memory_ledger.h"
#include "submix/ledger/testing/ledger_fixture.h"
#include "submix/ledger/testing/postgres_server.h"

namespace submix::ledger {
namespace ledger_thread_test {

constexpr int kWriters = 4;
constexpr int kChargesEach = 40;

// Every thread charges 3 and 5, each one its own ledger or all the same; returns the numbers of the
// records that hold them.
std::set<std::int64_t> ChargeFromManyThreads(const std::vector<Ledger*>& ledgers) {
  std::vector<std::vector<std::int64_t>> records(kWriters);
  std::vector<std::thread> writers;
  for (std::size_t writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&ledger = *ledgers[writer % ledgers.size()], &mine = records[writer]] {
      for (int i = 0; i < kChargesEach; ++i) {
        const auto receipts = ChargeOne(ledger, {3, 5});
        ASSERT_TRUE(receipts.ok()) << receipts.status();
        mine.push_back(receipts->front().record());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  std::set<std::int64_t> all;
  for (const auto& mine : records) all.insert(mine.begin(), mine.end());
  return all;
}

// Reads until `done`: what is spent belongs to whole charges and never shrinks.
void WatchUntil(const std::atomic<bool>& done, const Ledger& ledger) {
  std::int64_t last = 0;
  do {
    const Units spent = SpentOf(ledger);
    ASSERT_EQ(spent.size(), 2U);
    ASSERT_EQ(spent[0] % 3, 0);
    ASSERT_EQ(spent[0] / 3, spent[1] / 5);
    ASSERT_GE(spent[0], last);
    last = spent[0];
  } while (!done);
}

TEST(LedgerThreadTest, MemoryLedgerAddsUp) {
  const auto ledger = MakeMemoryLedger(2, accounting::FixedNats::FromUnits(1'000'000));
  std::atomic<bool> done = false;
  std::thread watcher([&] { WatchUntil(done, *ledger); });
  EXPECT_EQ(ChargeFromManyThreads({ledger.get()}).size(), 0U + kWriters * kChargesEach);
  done = true;
  watcher.join();
  EXPECT_EQ(SpentOf(*ledger), (Units{3 * kWriters * kChargesEach, 5 * kWriters * kChargesEach}));
}

using DurableLedgerThreadTest = LedgerFixture;

TEST_F(DurableLedgerThreadTest, SqliteAddsUpBesideReaders) {
  Create({1'000'000, 1'000'000});
  const auto ledger = Open();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto reader, DurableLedger::OpenReadOnly(options_));
  std::atomic<bool> done = false;
  std::thread watcher([&] { WatchUntil(done, *reader); });
  std::thread owner([&] { WatchUntil(done, *ledger); });
  std::thread auditor([&] {
    do {
      const base::Status verified = ledger->Verify();
      ASSERT_TRUE(verified.ok()) << verified;
    } while (!done);
  });
  EXPECT_EQ(ChargeFromManyThreads({ledger.get()}).size(), 0U + kWriters * kChargesEach)
      << "each charge has a record of its own";
  done = true;
  watcher.join();
  owner.join();
  auditor.join();
  EXPECT_EQ(SpentOf(*ledger), (Units{3 * kWriters * kChargesEach, 5 * kWriters * kChargesEach}));
  SUBMIX_EXPECT_OK(ledger->Verify());
}

TEST_F(DurableLedgerThreadTest, PostgresAddsUpOverManyConnections) {
  if (!PostgresServer::IsInstalled()) GTEST_SKIP() << "PostgreSQL is not installed";
  options_.location = SharedPostgresServer().NewSchema();
  Create({1'000'000, 1'000'000});
  const auto first = Open();
  const auto second = Open();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto reader, DurableLedger::OpenReadOnly(options_));
  std::atomic<bool> done = false;
  std::thread watcher([&] { WatchUntil(done, *reader); });
  EXPECT_EQ(ChargeFromManyThreads({first.get(), second.get()}).size(), 0U + kWriters * kChargesEach)
      << "each charge has a record of its own";
  done = true;
  watcher.join();
  EXPECT_EQ(SpentOf(*second), (Units{3 * kWriters * kChargesEach, 5 * kWriters * kChargesEach}));
  SUBMIX_EXPECT_OK(first->Verify());
}

}  // namespace ledger_thread_test
}  // namespace submix::ledger
