// kill -9 at any moment: what a ledger has acknowledged is never lost, and at most the one step
// under way is spent beyond it.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ledger/durable_ledger.h"

namespace submix::ledger {
namespace {

using accounting::FixedNats;

constexpr int kRounds = 80;
constexpr std::int64_t kBudget = 1'000'000'000'000;
// What one step costs the first account and the second: two requests of these halves.
constexpr std::int64_t kStep[] = {14, 22};

// Charges for ever; after each acknowledged step one byte goes into the pipe. Never returns.
[[noreturn]] void ChargeUntilKilled(const DurableLedgerOptions& options, int pipe) {
  auto ledger = DurableLedger::Open(options);
  if (!ledger.ok()) _exit(1);
  const std::vector<FixedNats> charges = {FixedNats::FromUnits(kStep[0] / 2),
                                          FixedNats::FromUnits(kStep[1] / 2)};
  for (std::uint64_t number = 0;; ++number) {
    const ChargeRequest step[] = {{{1, 2 * number}, accounting::ChargeRule::kPerPart, charges},
                                  {{1, 2 * number + 1}, accounting::ChargeRule::kPerPart, charges}};
    const auto receipts = (*ledger)->Charge(step);
    if (!receipts.ok() || receipts->size() != 2) _exit(2);
    std::int64_t paid = 0;
    for (const Receipt& receipt : *receipts) paid += receipt.charges()[0].units();
    if (paid != kStep[0]) _exit(3);
    if (::write(pipe, "+", 1) != 1) _exit(4);
  }
}

// Lets a child charge, kills it after `life`, and returns how many steps it saw acknowledged.
std::int64_t AcknowledgedUntilKilled(const DurableLedgerOptions& options,
                                     std::chrono::microseconds life) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ChargeUntilKilled(options, ends[1]);
  }
  ::close(ends[1]);
  std::this_thread::sleep_for(life);
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  int how = 0;
  EXPECT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFSIGNALED(how)) << "the child gave up with code " << WEXITSTATUS(how);
  std::int64_t acknowledged = 0;
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(ends[0], buffer, sizeof buffer);
    if (count <= 0) break;
    acknowledged += count;
  }
  ::close(ends[0]);
  return acknowledged;
}

// Steps that the ledger holds. Opening it for charging also mends what the kill left; a reader
// must cope without.
std::int64_t StepsIn(const DurableLedgerOptions& options, bool for_reading) {
  const auto ledger =
      for_reading ? DurableLedger::OpenReadOnly(options) : DurableLedger::Open(options);
  EXPECT_THAT(ledger, base::IsOk());
  if (!ledger.ok()) return -1;
  EXPECT_THAT((*ledger)->Verify(), base::IsOk());
  const auto accounts = (*ledger)->Accounts();
  EXPECT_THAT(accounts, base::IsOk());
  if (!accounts.ok()) return -1;
  const std::int64_t steps = (*accounts)[0].spent.units() / kStep[0];
  EXPECT_EQ((*accounts)[0].spent.units(), steps * kStep[0]) << "no half steps";
  EXPECT_EQ((*accounts)[1].spent.units(), steps * kStep[1]);
  return steps;
}

TEST(LedgerKillTest, AcknowledgedChargesSurviveKillNine) {
  const base::TemporaryDirectory directory;
  const DurableLedgerOptions options{directory.File("ledger.sqlite"), directory.File("anchor"),
                                     base::Sha256("deployment")};
  const std::vector<Account> accounts = {{"part 0", FixedNats::FromUnits(kBudget), {}},
                                         {"part 1", FixedNats::FromUnits(kBudget), {}}};
  SUBMIX_ASSERT_OK(DurableLedger::Create(options, accounts, "2"));

  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> life_us(500, 120'000);
  std::int64_t steps = 0;
  std::int64_t total_acknowledged = 0;
  for (int round = 0; round < kRounds && !::testing::Test::HasFailure(); ++round) {
    const std::int64_t acknowledged =
        AcknowledgedUntilKilled(options, std::chrono::microseconds(life_us(random)));
    // Every other round by a reader, who mends nothing: the next child meets what the kill left.
    const std::int64_t now = StepsIn(options, /*for_reading=*/round % 2 == 1);
    EXPECT_GE(now, steps + acknowledged) << "an acknowledged charge is lost";
    EXPECT_LE(now, steps + acknowledged + 1) << "more than the step under way";
    steps = now;
    total_acknowledged += acknowledged;
  }
  EXPECT_GT(total_acknowledged, 0) << "the children never came to charging";
}

}  // namespace
}  // namespace submix::ledger
