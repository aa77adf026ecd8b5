// Many clients at once, half of which hang up; run under the thread sanitizer (label `thread`).
#include <array>
#include <atomic>
#include <latch>
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

  void Count(AnswerEnd end) {
    if (end == AnswerEnd::kMaxTokens) ++finished;
    if (end == AnswerEnd::kExhausted) ++exhausted;
    if (end == AnswerEnd::kNotYet) ++hung_up;
  }

  Scheduler& scheduler_;
};

constexpr SchedulerOptions kOptions = {.max_live = 16};

TEST(SchedulerLoadTest, EveryTokenIsChargedWhoeverHangsUp) {
  base::TemporaryDirectory directory;
  WatchedEngine watched({.budget = 0.5});
  watched.predictor.has_threads = true;
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

// Calls of several choices, of few keys, into a queue that is often full, until quotas end.
TEST(SchedulerLoadTest, CallsAreAdmittedWholeOrUseNothing) {
  constexpr KeyQuotas kQuotas{.tokens = 700, .requests = 150};
  constexpr int kKeys = 3;
  constexpr int kCallers = 12;
  base::TemporaryDirectory directory;
  WatchedEngine watched;
  watched.ledger.gate.Close();  // the first calls are more than fit
  std::latch first_calls(kCallers);
  const auto usage = KeyUsage::Open(directory.path()).value();
  std::atomic<std::int64_t> tokens = 0, refused_full = 0, refused_quota = 0;
  std::array<std::atomic<std::int64_t>, kKeys> used_tokens{}, used_requests{};
  {
    const auto scheduler =
        Scheduler::Start(watched.MakeCore(),
                         {.max_live = 4, .max_waiting = 12, .max_waiting_per_key = 9}, usage.get())
            .value();
    // Whether the quota allows more.
    const auto ask = [&](int client, int call) {
      const int key = client % kKeys;
      Submission submission;
      submission.request.prompt = {client, call % LetterTokenizer::kVocabulary};
      submission.request.max_tokens = 1 + (client + call) % 7;
      submission.key = "key " + std::to_string(key);
      submission.quotas = kQuotas;
      const std::size_t choices = 1 + static_cast<std::size_t>(3 * client + call) % 9;
      const auto completions = scheduler->Submit(std::vector<Submission>(choices, submission));
      if (call == 0) first_calls.count_down();
      if (!completions.ok()) {
        const bool is_full = completions.status().code() == base::StatusCode::kResourceExhausted;
        ++(is_full ? refused_full : refused_quota);
        return is_full;
      }
      EXPECT_EQ(completions->size(), choices);
      used_requests[static_cast<std::size_t>(key)] += static_cast<std::int64_t>(choices);
      for (const auto& completion : *completions) {
        while (completion->Next(kLongEnough)) {
          ++tokens;
          ++used_tokens[static_cast<std::size_t>(key)];
        }
        EXPECT_EQ(completion->end(), AnswerEnd::kMaxTokens);
      }
      return true;
    };
    std::vector<std::thread> clients;
    for (int client = 0; client < kCallers; ++client) {
      clients.emplace_back([&, client] {
        for (int call = 0; ask(client, call);) ++call;
      });
    }
    first_calls.wait();
    watched.ledger.gate.Open();
    for (std::thread& client : clients) client.join();
  }
  EXPECT_GT(refused_full, 0);
  EXPECT_GT(refused_quota, 0);
  EXPECT_EQ(watched.ledger.releases, tokens) << "nothing is charged that nobody was given";
  SUBMIX_EXPECT_OK(usage->Write());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto uses, KeyUsage::Read(directory.path()));
  for (std::size_t key = 0; key < kKeys; ++key) {
    const KeyUse& use = uses.at("key " + std::to_string(key));
    EXPECT_EQ(use, (KeyUse{used_tokens[key], used_requests[key]}));
    EXPECT_LE(use.tokens, *kQuotas.tokens);
    EXPECT_LE(use.requests, *kQuotas.requests);
  }
}

}  // namespace scheduler_load_test
}  // namespace submix::engine
