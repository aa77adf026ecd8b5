// Three processes charge one budget in PostgreSQL under load; one is killed with -9, the database
// crashes and comes back. Whatever happens: what they released is never more than what the database
// says was granted, no budget is overspent, the chain is whole, and service resumes by itself.
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ledger/durable_ledger.h"
#include "submix/ledger/testing/postgres_server.h"

namespace submix::ledger {
namespace {

using accounting::FixedNats;
using base::StatusCode;
using std::chrono::milliseconds;

constexpr int kServers = 3;
constexpr std::size_t kParts = 8;
constexpr std::size_t kSequences = 16;
constexpr std::int64_t kSteps = 50;  // of each server between one fault and the next
constexpr std::int64_t kMaxCharge = 1000;
// Part 0 is poor: emptied long before the end, by charges that compete for its last units.
constexpr std::int64_t kPoor = 500'000;
constexpr std::int64_t kRich = 1'000'000'000'000;

// What one server has released: written by it alone, after a receipt; read by the test.
struct Released {
  std::atomic<std::int64_t> steps;
  std::atomic<std::int64_t> failures;
  std::array<std::atomic<std::int64_t>, kParts> units;
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");

// Memory that outlives a process killed with -9.
Released* MapReleased() {
  void* shared = ::mmap(nullptr, kServers * sizeof(Released), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(shared, MAP_FAILED);
  return static_cast<Released*>(shared);
}

std::atomic<bool> stop = false;

// One step of all sequences with random charges; counts what its receipts allow to release.
base::Status ChargeStep(DurableLedger& ledger, std::uint64_t session, std::mt19937& random,
                        Released& released) {
  std::uniform_int_distribution<std::int64_t> amount(0, kMaxCharge);
  std::vector<std::vector<FixedNats>> charges(kSequences);
  std::vector<ChargeRequest> step;
  for (std::size_t i = 0; i < kSequences; ++i) {
    for (std::size_t part = 0; part < kParts; ++part) {
      charges[i].push_back(FixedNats::FromUnits(amount(random)));
    }
    step.push_back({{session, i}, accounting::ChargeRule::kPerPart, charges[i]});
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto receipts, ledger.Charge(step));
  for (const Receipt& receipt : receipts) {
    for (std::size_t part = 0; part < kParts; ++part) {
      released.units[part] += receipt.charges()[part].units();
    }
  }
  ++released.steps;
  return base::OkStatus();
}

// A server's life: charges until it is told to stop, and through everything that may pass.
[[noreturn]] void Serve(const DurableLedgerOptions& options, std::uint64_t session,
                        Released& released) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // not to outlive a test that is killed
  std::signal(SIGTERM, [](int) { stop = true; });
  const auto ledger = DurableLedger::Open(options);
  if (!ledger.ok()) ::_exit(10);
  std::mt19937 random(static_cast<unsigned>(session));
  while (!stop) {
    const base::Status status = ChargeStep(**ledger, session, random, released);
    if (status.ok()) continue;
    if (status.code() != StatusCode::kUnavailable) ::_exit(11);
    ++released.failures;
    std::this_thread::sleep_for(milliseconds(20));
  }
  ::_exit(0);
}

class LedgerReplicasTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresServer::IsInstalled()) GTEST_SKIP() << "PostgreSQL is not installed";
    database_ = std::make_unique<PostgresServer>();
    options_ = {database_->NewSchema(), directory_.File("anchor"), base::Sha256("deployment")};
    std::vector<Account> accounts;
    for (std::size_t part = 0; part < kParts; ++part) {
      const std::int64_t budget = part == 0 ? kPoor : kRich;
      accounts.push_back({"part " + std::to_string(part), FixedNats::FromUnits(budget), {}});
    }
    SUBMIX_ASSERT_OK(DurableLedger::Create(options_, accounts, "2"));
  }

  void TearDown() override {
    for (const pid_t server : servers_) {
      if (server > 0) ::kill(server, SIGKILL);
    }
  }

  // The first two share a directory and so an anchor; the third stands on a host of its own.
  void StartServer(std::size_t server) {
    DurableLedgerOptions options = options_;
    if (server == 2) {
      options.anchor_path = directory_.File("another anchor");
      std::filesystem::copy_file(options_.anchor_path, options.anchor_path,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    servers_[server] = ::fork();
    if (servers_[server] == 0) Serve(options, ++sessions_, released_[server]);
    ++sessions_;
  }

  // How the server ended.
  int Await(std::size_t server) {
    int how = 0;
    EXPECT_EQ(::waitpid(servers_[server], &how, 0), servers_[server]);
    servers_[server] = -1;
    return how;
  }

  // Until every server has released this many more steps.
  void AwaitSteps(std::int64_t steps) {
    std::array<std::int64_t, kServers> goal;
    for (std::size_t i = 0; i < kServers; ++i) goal[i] = released_[i].steps + steps;
    for (int attempt = 0; attempt < 6000; ++attempt) {
      std::size_t there = 0;
      for (std::size_t i = 0; i < kServers; ++i) there += released_[i].steps >= goal[i] ? 1 : 0;
      if (there == kServers) return;
      std::this_thread::sleep_for(milliseconds(20));
    }
    FAIL() << "a server does not get on";
  }

  std::int64_t ReleasedUnits(std::size_t part) const {
    std::int64_t units = 0;
    for (std::size_t i = 0; i < kServers; ++i) units += released_[i].units[part];
    return units;
  }

  const base::TemporaryDirectory directory_;
  std::unique_ptr<PostgresServer> database_;
  DurableLedgerOptions options_;
  Released* const released_ = MapReleased();
  std::array<pid_t, kServers> servers_{-1, -1, -1};
  std::uint64_t sessions_ = 0;
};

TEST_F(LedgerReplicasTest, NeverReleaseMoreThanTheDatabaseGranted) {
  for (std::size_t server = 0; server < kServers; ++server) StartServer(server);
  ASSERT_NO_FATAL_FAILURE(AwaitSteps(kSteps));

  ASSERT_EQ(::kill(servers_[0], SIGKILL), 0);
  EXPECT_TRUE(WIFSIGNALED(Await(0)));
  StartServer(0);
  ASSERT_NO_FATAL_FAILURE(AwaitSteps(kSteps));

  database_->Stop(SIGQUIT);
  std::this_thread::sleep_for(milliseconds(200));
  database_->Start();
  ASSERT_NO_FATAL_FAILURE(AwaitSteps(kSteps));  // all three, by themselves
  for (std::size_t i = 0; i < kServers; ++i) EXPECT_GT(released_[i].failures, 0) << i;

  for (const pid_t server : servers_) ::kill(server, SIGTERM);
  for (std::size_t server = 0; server < kServers; ++server) EXPECT_EQ(Await(server), 0) << server;

  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto ledger, DurableLedger::OpenReadOnly(options_));
  SUBMIX_EXPECT_OK(ledger->Verify());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto accounts, ledger->Accounts());
  // In doubt at most: the step of the one killed, and one a server when the database went.
  const std::int64_t in_doubt = (1 + kServers) * static_cast<std::int64_t>(kSequences) * kMaxCharge;
  for (std::size_t part = 0; part < kParts; ++part) {
    const std::int64_t spent = accounts[part].spent.units();
    EXPECT_LE(ReleasedUnits(part), spent) << part;
    EXPECT_LE(spent, accounts[part].budget.units()) << part;
    EXPECT_LE(spent - ReleasedUnits(part), in_doubt) << part;
  }
  EXPECT_GT(accounts[0].spent.units(), kPoor - kMaxCharge) << "the poor part was emptied";
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto head, ledger->head());
  std::int64_t steps = 0;
  for (std::size_t i = 0; i < kServers; ++i) steps += released_[i].steps;
  EXPECT_LE(1 + steps, head.records);
}

}  // namespace
}  // namespace submix::ledger
