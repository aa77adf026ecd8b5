// Many clients at once, half of which hang up; run under the thread sanitizer (label `thread`).
#include <atomic>
#include <thread>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/engine/scheduler.h"
#include "submix/engine/testing/watched_engine.h"

namespace submix::engine {
namespace scheduler_load_test {

constexpr int kClients = 64;
constexpr int kRequestsEach = 4;
constexpr int kMaxTokens = 20;
constexpr std::chrono::minutes kLongEnough(5);

class Clients {
 public:
  explicit Clients(Scheduler& scheduler) : scheduler_(scheduler) {}

  void Run() {
    std::vector<std::thread> threads;
    for (int client = 0; client < kClients; ++client) {
      threads.emplace_back([this, client] {
        for (int i = 0; i < kRequestsEach; ++i) Ask(client, i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::atomic<std::int64_t> tokens = 0;
  std::atomic<int> finished = 0;
  std::atomic<int> exhausted = 0;
  std::atomic<int> hung_up = 0;

 private:
  void Ask(int client, int i) {
    Submission submission;
    submission.request.prompt = {client % LetterTokenizer::kVocabulary, i};
    submission.request.max_tokens = kMaxTokens;
    submission.key = "key " + std::to_string(client % 8);
    auto completion = scheduler_.Submit(std::move(submission));
    if (!completion.ok()) {
      EXPECT_EQ(completion.status().code(), base::StatusCode::kFailedPrecondition);
      ++exhausted;
      return;
    }
    const int patience = client % 2 == 0 ? kMaxTokens : (client / 2 + i) % kMaxTokens;
    for (int taken = 0; taken < patience && (*completion)->Next(kLongEnough); ++taken) ++tokens;
    Count((*completion)->end());
  }

  void Count(CompletionEnd end) {
    if (end == CompletionEnd::kFinished) ++finished;
    if (end == CompletionEnd::kExhausted) ++exhausted;
    if (end == CompletionEnd::kRunning) ++hung_up;
  }

  Scheduler& scheduler_;
};

constexpr SchedulerOptions kOptions = {.max_live = 16};

TEST(SchedulerLoadTest, EveryTokenIsChargedWhoeverHangsUp) {
  base::TemporaryDirectory directory;
  WatchedEngine watched({.budget = 0.5});
  const auto usage = KeyUsage::Open(directory.path()).value();
  const auto scheduler = Scheduler::Start(watched.MakeCore(), kOptions, usage.get()).value();
  Clients clients(*scheduler);
  clients.Run();
  EXPECT_EQ(clients.finished + clients.hung_up, kClients * kRequestsEach);
  EXPECT_GE(clients.finished, kClients / 2 * kRequestsEach);
  EXPECT_GT(clients.hung_up, 0);
  scheduler->Drain(std::chrono::steady_clock::now() + kLongEnough);
  const Counters& counters = scheduler->counters();
  EXPECT_EQ(counters.tokens, watched.ledger.releases);
  EXPECT_LE(clients.tokens, counters.tokens);
  EXPECT_EQ(counters.finished + counters.cancelled, counters.requests);
  EXPECT_EQ(watched.predictor.fake.open_sequences(), 0u);
  for (int part = 0; part < WatchedEngine::kParts; ++part) {
    EXPECT_LE(watched.ledger.SpentByPart(part), 0.5);
  }
}

TEST(SchedulerLoadTest, AFixedNumberOfAnswersIsNeverExceeded) {
  constexpr int kAnswers = 500;
  WatchedEngine watched({.mechanism = "dclip",
                         .budget = 5,
                         .target_leakage = 0.01,
                         .when_exhausted = WhenExhausted::kRefuse});
  const auto scheduler = Scheduler::Start(watched.MakeCore(), kOptions).value();
  Clients clients(*scheduler);
  clients.Run();
  EXPECT_LE(clients.tokens, kAnswers);
  EXPECT_EQ(scheduler->counters().tokens, kAnswers);
  EXPECT_GT(clients.exhausted, 0);
}

TEST(SchedulerLoadTest, QuotasHoldWhoeverAsksAtTheSameTime) {
  constexpr std::int64_t kQuota = 1000;
  base::TemporaryDirectory directory;
  WatchedEngine watched;
  const auto usage = KeyUsage::Open(directory.path()).value();
  std::atomic<std::int64_t> tokens = 0;
  {
    const auto scheduler = Scheduler::Start(watched.MakeCore(), {}, usage.get()).value();
    std::vector<std::thread> clients;
    for (int client = 0; client < 8; ++client) {
      clients.emplace_back([&] {
        for (;;) {
          Submission submission;
          submission.request.prompt = {1};
          submission.request.max_tokens = 20;
          submission.key = "a";
          submission.quotas.tokens = kQuota;
          const auto completion = scheduler->Submit(std::move(submission));
          if (!completion.ok()) return;
          while ((*completion)->Next(kLongEnough)) ++tokens;
        }
      });
    }
    for (std::thread& client : clients) client.join();
  }
  EXPECT_EQ(tokens, kQuota);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto uses, KeyUsage::Read(directory.path()));
  EXPECT_EQ(uses.at("a").tokens, kQuota);
}

}  // namespace scheduler_load_test
}  // namespace submix::engine
