// What is recorded and counted of completion requests, as their server does it.
#include "submix/server/request_visit.h"

#include <algorithm>

#include <gmock/gmock.h>

#include "submix/server/testing/raw_client.h"
#include "submix/server/testing/served_engine.h"

namespace submix::server {
namespace request_visit_test {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RequestVisit, RecordsHoldNoText) {
  ServedEngine served;
  Post(served.port(), kCompletions, CompletionBody(R"("max_tokens":5)"));
  ASSERT_TRUE(Eventually([&] { return served.records().size() == 1; }));
  const RequestRecord record = served.records().front();
  EXPECT_EQ(record.endpoint, kCompletions);
  EXPECT_EQ(record.status, 200);
  EXPECT_EQ(record.prompt_tokens, 3);
  EXPECT_EQ(record.completion_tokens, 5);
  EXPECT_FALSE(record.streamed);
}

constexpr std::string_view kHead =
    "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

TEST(RequestVisit, WhatIsRefusedOnItsWayIsRecordedAndCounted) {
  ServedEngineOptions options;
  options.http.listener.body_bytes = 4'096;
  options.http.listener.body_timeout = std::chrono::milliseconds(100);
  ServedEngine served(options);
  const std::string head(kHead);
  for (const std::string& request :
       {RequestText("GET", kCompletions, ""), head + "\r\n", head + "Content-Length: 5000\r\n\r\n",
        head + "Content-Length: 5\r\n\r\nslow",
        head + "Transfer-Encoding: chunked\r\n\r\nno chunk\r\n"}) {
    EXPECT_NE(Ask(served.port(), request).status, 200) << request;
  }
  for (const std::string& no_completion :
       {std::string("nonsense\r\n\r\n"), RequestText("POST", "/v1/embeddings", "{}"),
        RequestText("DELETE", "/healthz", ""), head + "Content-Length: x\r\n\r\n"}) {
    EXPECT_GE(Ask(served.port(), no_completion).status, 400);
  }
  std::vector<int> statuses;
  for (const RequestRecord& record : served.records()) {
    EXPECT_EQ(record.endpoint, kCompletions);
    statuses.push_back(record.status);
  }
  EXPECT_THAT(statuses, ElementsAre(405, 411, 413, 408, 400));
  const std::string metrics = Get(served.port(), "/metrics").body;
  for (const int status : statuses) {
    EXPECT_THAT(metrics, HasSubstr("submix_http_answers_total{status=\"" + std::to_string(status) +
                                   "\"} 1\n"));
  }
}

TEST(RequestVisit, ItIsRecordedOnceWhereThereIsNoPlace) {
  const base::TemporaryDirectory directory;
  engine::ApiKeys keys(directory.path());
  const engine::NewApiKey key = keys.Create("test", {}).value();
  const auto usage = engine::KeyUsage::Open(directory.path()).value();
  ServedEngineOptions options;
  options.keys = &keys;
  options.usage = usage.get();
  options.http.listener.connections = 1;
  ServedEngine served(options);
  served.watched.ledger.gate.Close();
  RawClient first(served.port());
  first.Send(RequestText("POST", kCompletions, CompletionBody(), key.secret));
  ASSERT_TRUE(Eventually([&] { return served.scheduler->counters().live == 1; }));
  EXPECT_EQ(Post(served.port(), kCompletions, CompletionBody(), key.secret).status, 503);
  EXPECT_EQ(Post(served.port(), kCompletions, CompletionBody()).status, 401);
  const auto records = served.records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].status, 503);
  EXPECT_EQ(records[0].key, key.key.id);
  EXPECT_EQ(records[1].status, 401);
  EXPECT_EQ(records[1].key, "");
}

}  // namespace request_visit_test
}  // namespace submix::server
