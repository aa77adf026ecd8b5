// Many clients at once, half of them hanging up mid-stream: what they got together was paid for,
// and no budget is overspent. Seconds here; SUBMIX_LOAD_SECONDS=60 for the long run.
#include <atomic>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "submix/server/testing/raw_client.h"
#include "submix/server/testing/served_engine.h"

namespace submix::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

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

struct Load {
  std::atomic<std::int64_t> letters{0};
  std::atomic<int> refused{0};
  std::atomic<int> hang_ups{0};
};

// One client: asks again and again, and hangs up half of the time after some bytes of the answer.
void AskAgainAndAgain(int port, unsigned seed, steady_clock::time_point end, Load& load) {
  std::mt19937 random(seed);
  while (steady_clock::now() < end) {
    RawClient client(port);
    client.Send(RequestText("POST", kPath,
                            R"({"model":"letters","prompt":"abc","max_tokens":50,"stream":true})"));
    const bool hangs_up = random() % 2 == 0;
    const std::size_t patience = 300 + random() % 5'000;
    std::string bytes;
    for (std::string more = client.Read(std::chrono::seconds(20)); !more.empty();
         more = client.Read(std::chrono::seconds(20))) {
      bytes += more;
      if (hangs_up && bytes.size() > patience) break;
    }
    load.letters += Letters(bytes);
    if (hangs_up) ++load.hang_ups;
    if (ParseAnswer(bytes).status == 429) ++load.refused;
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

double LargestSpent(const ServedEngine& served) {
  double largest = 0;
  for (int part = 0; part < engine::WatchedEngine::kParts; ++part) {
    largest = std::max(largest, served.watched.ledger.SpentByPart(part));
  }
  return largest;
}

TEST(ServerLoad, AFixedNumberOfAnswersIsNeverExceededAndThenRefused) {
  ServedEngineOptions options;
  options.engine.mechanism = "dclip";
  options.engine.budget = 5;
  options.engine.target_leakage = 0.01;
  options.engine.when_exhausted = engine::WhenExhausted::kRefuse;
  ServedEngine served(options);
  Load load;
  RunLoad(served.port(), load);
  const std::int64_t most = served.watched.ledger.releases;  // T, once it is used up
  EXPECT_GT(load.hang_ups, 0);
  EXPECT_GT(load.refused, 0) << "the number of answers was not used up: " << most;
  EXPECT_LE(load.letters, most);
  EXPECT_LE(LargestSpent(served), options.engine.budget);
  // Every charge is the same constant, and not one more would have fitted.
  EXPECT_GT(LargestSpent(served) * static_cast<double>(most + 1) / static_cast<double>(most),
            options.engine.budget);
  const RawAnswer after =
      Post(served.port(), kPath, R"({"model":"letters","prompt":"abc","max_tokens":1})");
  EXPECT_EQ(after.status, 429);
  EXPECT_EQ(nlohmann::json::parse(after.body)["error"]["code"], "insufficient_quota");
  EXPECT_EQ(served.watched.ledger.releases, most);
}

TEST(ServerLoad, SpentPartsAreNotSeenAndNotOverspent) {
  ServedEngineOptions options;
  options.engine.budget = 0.05;
  ServedEngine served(options);
  const std::string whole = R"({"model":"letters","prompt":"abc","max_tokens":50})";
  const std::string stream = R"({"model":"letters","prompt":"abc","max_tokens":50,"stream":true})";
  const RawAnswer whole_before = Post(served.port(), kPath, whole);
  const RawAnswer stream_before = Post(served.port(), kPath, stream);
  ASSERT_EQ(whole_before.status, 200);
  Load load;
  RunLoad(served.port(), load);
  const RawAnswer whole_after = Post(served.port(), kPath, whole);
  const RawAnswer stream_after = Post(served.port(), kPath, stream);

  EXPECT_EQ(load.refused, 0);
  EXPECT_LE(load.letters + 200, served.watched.ledger.releases) << "a token without its record";
  EXPECT_LE(LargestSpent(served), options.engine.budget);
  EXPECT_GT(LargestSpent(served), 0.9 * options.engine.budget) << "the parts were not spent";
  // Status and headers, and the shape of the bodies: texts are as long, ids are random.
  EXPECT_EQ(whole_after.head, whole_before.head);
  EXPECT_EQ(stream_after.head, stream_before.head);
  EXPECT_EQ(whole_after.body.size(), whole_before.body.size());
  EXPECT_EQ(stream_after.body.size(), stream_before.body.size());
}

}  // namespace
}  // namespace submix::server
