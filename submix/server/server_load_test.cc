// Many clients at once, half of them hanging up mid-stream: what they got together was paid for,
// and no budget is overspent. Seconds here; SUBMIX_LOAD_SECONDS=60 for the long run.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "submix/server/testing/raw_client.h"
#include "submix/server/testing/served_engine.h"

namespace submix::server {
namespace server_load_test {

using std::chrono::steady_clock;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Gt;
using testing::Le;

constexpr int kClients = 64;
constexpr const char* kPath = "/v1/completions";

std::chrono::seconds LoadTime() {
  const char* seconds = std::getenv("SUBMIX_LOAD_SECONDS");
  return std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 3);
}

// The letters in the texts of a stream, as far as it came: each is one token.
std::int64_t Letters(std::string_view stream) {
  std::int64_t letters = 0;
  constexpr std::string_view kText = "\"text\":\"";
  for (std::size_t at = 0; (at = stream.find(kText, at)) != std::string_view::npos;) {
    at += kText.size();
    for (; at < stream.size() && stream[at] != '"'; ++at) ++letters;
  }
  return letters;
}

constexpr int kMaxTokens = 50;

struct Load {
  std::atomic<std::int64_t> letters{0};
  std::atomic<int> refused{0};
  std::atomic<int> hang_ups{0};
  std::atomic<int> whole{0};  // streams that came to their proper end
  std::atomic<int> cut{0};    // streams that nobody hung up on and that did not
  std::mutex mutex;
  std::set<std::string> heads;  // guarded by mutex: all that were answered
};

// Without the time and the random name of the answer.
std::string Nameless(std::string head) {
  for (const char* name : {"\r\nDate: ", "\r\nx-request-id: "}) {
    const std::size_t at = head.find(name);
    head.erase(at, head.find("\r\n", at + 2) - at);
  }
  return head;
}

// Status line and headers; the ones that any two answers may differ in are not there.
void NoteAnswer(const RawAnswer& answer, std::int64_t letters, Load& load) {
  {
    const std::lock_guard lock(load.mutex);
    load.heads.insert(Nameless(answer.head));
  }
  if (answer.status == 429) {
    ++load.refused;
  } else if (answer.status == 200 && letters == kMaxTokens &&
             answer.body.find("data: [DONE]") != std::string::npos) {
    ++load.whole;
  } else {
    ++load.cut;
  }
}

// One client: asks again and again, and hangs up half of the time after some bytes of the answer.
void AskAgainAndAgain(int port, unsigned seed, steady_clock::time_point end, Load& load) {
  std::mt19937 random(seed);
  while (steady_clock::now() < end) {
    RawClient client(port);
    client.Send(RequestText("POST", kPath,
                            R"({"model":"letters","prompt":"abc","max_tokens":50,"stream":true})"));
    const bool hangs_up = random() % 2 == 0;
    const std::size_t patience = 300 + random() % 5'000;
    bool hung_up = false;
    std::string bytes;
    for (std::string more = client.Read(std::chrono::seconds(20)); !more.empty();
         more = client.Read(std::chrono::seconds(20))) {
      bytes += more;
      hung_up = hangs_up && bytes.size() > patience;
      if (hung_up) break;
    }
    const std::int64_t letters = Letters(bytes);
    load.letters += letters;
    if (hung_up) {
      ++load.hang_ups;
    } else {
      NoteAnswer(ParseAnswer(bytes), letters, load);
    }
  }
}

void RunLoad(int port, Load& load) {
  const auto end = steady_clock::now() + LoadTime();
  std::vector<std::thread> clients;
  for (unsigned i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] { AskAgainAndAgain(port, i, end, load); });
  }
  for (std::thread& client : clients) client.join();
}

void Report(const Load& load, const ServedEngine& served) {
  std::printf("%d clients, %d s: %lld tokens seen, %d charged, %d whole, %d hung up, %d refused\n",
              kClients, static_cast<int>(LoadTime().count()), static_cast<long long>(load.letters),
              served.watched.ledger.releases.load(), load.whole.load(), load.hang_ups.load(),
              load.refused.load());
}

std::vector<double> Spent(const ServedEngine& served) {
  std::vector<double> spent;
  for (int part = 0; part < engine::WatchedEngine::kParts; ++part) {
    spent.push_back(served.watched.ledger.SpentByPart(part));
  }
  return spent;
}

TEST(ServerLoad, AFixedNumberOfAnswersIsNeverExceededAndThenRefused) {
  ServedEngineOptions options;
  options.engine.mechanism = "dclip";
  constexpr int kAnswers = 500;  // T: each costs every part the same
  options.engine.budget = 5;
  options.engine.target_leakage = options.engine.budget / kAnswers;
  options.engine.when_exhausted = engine::WhenExhausted::kRefuse;
  ServedEngine served(options);
  Load load;
  RunLoad(served.port(), load);
  Report(load, served);
  EXPECT_GT(load.hang_ups, 0);
  EXPECT_GT(load.refused, 0) << "the answers were not used up";
  EXPECT_LE(load.letters, kAnswers);
  EXPECT_THAT(Spent(served), Each(AllOf(Gt(options.engine.budget - options.engine.target_leakage),
                                        Le(options.engine.budget))));
  EXPECT_LE(load.heads.size(), 2U) << "one for answers, one for refusals";
  const int charged = served.watched.ledger.releases;
  const RawAnswer after =
      Post(served.port(), kPath, R"({"model":"letters","prompt":"abc","max_tokens":1})");
  EXPECT_EQ(after.status, 429);
  EXPECT_EQ(nlohmann::json::parse(after.body)["error"]["code"], "insufficient_quota");
  EXPECT_EQ(served.watched.ledger.releases, charged);
}

TEST(ServerLoad, WhoMeetsTheEndOfTheAnswersGetsWhatWasPaidFor) {
  ServedEngineOptions options;
  options.engine.mechanism = "dclip";
  options.engine.budget = 0.25;
  options.engine.target_leakage = 0.01;
  options.engine.when_exhausted = engine::WhenExhausted::kRefuse;
  const std::string ask = R"({"model":"letters","prompt":"abc","max_tokens":40,"n":2)";
  for (const bool streams : {false, true}) {
    ServedEngine served(options);
    const RawAnswer answer =
        Post(served.port(), kPath, ask + (streams ? R"(,"stream":true})" : "}"));
    EXPECT_EQ(answer.status, 200) << answer.body;
    int cut = 0;
    const std::string end = R"("finish_reason":"length")";
    for (auto at = answer.body.find(end); at != std::string::npos; ++cut) {
      at = answer.body.find(end, at + 1);
    }
    EXPECT_EQ(cut, 2) << answer.body;
    EXPECT_EQ(answer.body.find("error"), std::string::npos) << answer.body;
    EXPECT_EQ(answer.body.find("[DONE]") != std::string::npos, streams);
    if (!streams) {
      EXPECT_EQ(nlohmann::json::parse(answer.body)["usage"]["completion_tokens"], 25);
    }
    EXPECT_EQ(Post(served.port(), kPath, ask + "}").status, 429);
  }
}

TEST(ServerLoad, SpentPartsAreNotSeenAndNotOverspent) {
  ServedEngineOptions options;
  options.engine.budget = 0.05;
  ServedEngine served(options);
  const std::string whole = R"({"model":"letters","prompt":"abc","max_tokens":50})";
  const std::string stream = R"({"model":"letters","prompt":"abc","max_tokens":50,"stream":true})";
  const RawAnswer whole_before = Post(served.port(), kPath, whole);
  const RawAnswer stream_before = Post(served.port(), kPath, stream);
  const RawAnswer models_before = Get(served.port(), "/v1/models");
  const RawAnswer ready_before = Get(served.port(), "/readyz");
  ASSERT_EQ(whole_before.status, 200);
  Load load;
  RunLoad(served.port(), load);
  Report(load, served);
  const RawAnswer whole_after = Post(served.port(), kPath, whole);
  const RawAnswer stream_after = Post(served.port(), kPath, stream);

  EXPECT_EQ(load.refused, 0);
  EXPECT_LE(load.letters + 200, served.watched.ledger.releases) << "a token without its record";
  EXPECT_THAT(Spent(served), Each(Le(options.engine.budget)));
  EXPECT_THAT(Spent(served), Each(Gt(0.9 * options.engine.budget))) << "the parts were not spent";
  EXPECT_EQ(load.cut, 0);
  EXPECT_GT(load.whole, 0);
  EXPECT_THAT(load.heads, ElementsAre(Nameless(stream_before.head))) << "all the time";
  // Status and headers, and the shape of the bodies: texts are as long, ids are random.
  EXPECT_EQ(Nameless(whole_after.head), Nameless(whole_before.head));
  EXPECT_EQ(Nameless(stream_after.head), Nameless(stream_before.head));
  EXPECT_EQ(whole_after.body.size(), whole_before.body.size());
  EXPECT_EQ(stream_after.body.size(), stream_before.body.size());
  const RawAnswer models_after = Get(served.port(), "/v1/models");
  EXPECT_EQ(Nameless(models_after.head) + models_after.body,
            Nameless(models_before.head) + models_before.body);
  const RawAnswer ready_after = Get(served.port(), "/readyz");
  EXPECT_EQ(Nameless(ready_after.head) + ready_after.body,
            Nameless(ready_before.head) + ready_before.body);
}

}  // namespace server_load_test
}  // namespace submix::server
