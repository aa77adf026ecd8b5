// Clients, readiness and the end of the process while the ledger does not answer.
#include <thread>

#include <gmock/gmock.h>

#include "submix/server/testing/raw_client.h"
#include "submix/server/testing/served_engine.h"

namespace submix::server {
namespace held_up_engine_test {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::Not;

// Far more than a busy machine needs, far less than until the ledger answers: never.
constexpr seconds kInTime(15);

TEST(HeldUpEngine, RequestsHaveTheirTimeAllTheSame) {
  ServedEngineOptions options;
  options.http.request_time = milliseconds(300);
  ServedEngine served(options);
  served.watched.ledger.gate.Close();
  const auto start = steady_clock::now();
  const RawAnswer whole = Post(served.port(), kCompletions, CompletionBody());
  EXPECT_EQ(whole.status, 504);
  const RawAnswer streamed = Post(served.port(), kCompletions, CompletionBody(R"("stream":true)"));
  EXPECT_THAT(streamed.body, HasSubstr("\"timeout\""));
  EXPECT_THAT(streamed.body, Not(HasSubstr("[DONE]")));
  EXPECT_LT(steady_clock::now() - start, kInTime);
  served.watched.ledger.gate.Open();
  EXPECT_TRUE(Eventually([&] { return served.scheduler->counters().live == 0; }));
  EXPECT_EQ(served.scheduler->counters().deadlines, 2);
}

TEST(HeldUpEngine, ReadinessNoticesAndNewRequestsAreRefused) {
  ServedEngineOptions options;
  options.scheduler.longest_step = milliseconds(200);
  ServedEngine served(options);
  EXPECT_EQ(Get(served.port(), "/readyz").status, 200);
  served.watched.ledger.gate.Close();
  RawClient waiting(served.port());
  waiting.Send(RequestText("POST", kCompletions, CompletionBody()));
  EXPECT_TRUE(Eventually([&] { return Get(served.port(), "/readyz").status == 503; }));
  EXPECT_TRUE(Eventually([&] {
    return Get(served.port(), "/metrics").body.find("\nsubmix_healthy 0\n") != std::string::npos;
  }));
  const RawAnswer refused = Post(served.port(), kCompletions, CompletionBody());
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(Get(served.port(), "/healthz").status, 200);
  served.watched.ledger.gate.Open();
  EXPECT_EQ(ParseAnswer(waiting.ReadAll()).status, 200) << "it was not broken off";
  EXPECT_TRUE(Eventually([&] { return Get(served.port(), "/readyz").status == 200; }));
  EXPECT_EQ(Post(served.port(), kCompletions, CompletionBody()).status, 200);
}

TEST(HeldUpEngine, StopReturnsAndEverybodyIsTold) {
  ServedEngine served;
  served.watched.ledger.gate.Close();
  RawClient live(served.port());
  live.Send(RequestText("POST", kCompletions, CompletionBody()));
  ASSERT_TRUE(Eventually([&] { return served.scheduler->counters().live == 1; }));
  const auto start = steady_clock::now();
  served.http->Stop(start + milliseconds(100));
  EXPECT_LT(steady_clock::now() - start, kInTime);
  EXPECT_EQ(ParseAnswer(live.ReadAll()).status, 503);
  EXPECT_FALSE(served.scheduler->has_stopped());
  served.watched.ledger.gate.Open();
  EXPECT_TRUE(Eventually([&] { return served.scheduler->has_stopped(); }));
}

}  // namespace held_up_engine_test
}  // namespace submix::server
