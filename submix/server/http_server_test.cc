#include "submix/server/http_server.h"

#include <cstdio>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "submix/server/metrics.h"
#include "submix/server/testing/raw_client.h"
#include "submix/server/testing/served_engine.h"

namespace submix::server {
namespace http_server_test {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::Not;

TEST(HttpServer, AnswersACompletion) {
  ServedEngine served;
  const RawAnswer answer = Post(served.port(), kCompletions, CompletionBody(R"("max_tokens":5)"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.head, HasSubstr("Content-Type: application/json"));
  const json object = json::parse(answer.body);
  EXPECT_EQ(object["object"], "text_completion");
  EXPECT_EQ(object["model"], "letters");
  EXPECT_EQ(object["choices"][0]["text"].get<std::string>().size(), 5u);
  EXPECT_EQ(object["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(object["usage"],
            json({{"prompt_tokens", 3}, {"completion_tokens", 5}, {"total_tokens", 8}}));
  EXPECT_FALSE(object.contains("system_fingerprint"));
  EXPECT_EQ(served.watched.ledger.releases, 5);
}

TEST(HttpServer, StreamsTokensAsTheyCome) {
  ServedEngine served;
  const RawAnswer answer = Post(
      served.port(), kCompletions,
      CompletionBody(R"("max_tokens":5,"stream":true,"stream_options":{"include_usage":true})"));
  ASSERT_EQ(answer.status, 200);
  EXPECT_THAT(answer.head, HasSubstr("Content-Type: text/event-stream"));
  const auto events = Events(answer.body);
  ASSERT_EQ(events.size(), 6u);
  std::string text;
  for (std::size_t i = 0; i < 5; ++i) {
    text += events[i]["choices"][0]["text"];
    EXPECT_EQ(events[i]["choices"][0]["finish_reason"], i == 4 ? json("length") : json(nullptr));
    EXPECT_EQ(events[i]["id"], events[0]["id"]);
  }
  EXPECT_EQ(text.size(), 5u);
  EXPECT_EQ(events[5]["usage"]["completion_tokens"], 5);
}

TEST(HttpServer, EveryChoiceIsDrawnAndCharged) {
  ServedEngine served;
  const RawAnswer whole =
      Post(served.port(), kCompletions,
           R"({"model":"letters","prompt":["ab",[1,2,3]],"n":3,"max_tokens":4})");
  ASSERT_EQ(whole.status, 200) << whole.body;
  const json object = json::parse(whole.body);
  ASSERT_EQ(object["choices"].size(), 6u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(object["choices"][i]["index"], i);
  EXPECT_EQ(object["usage"]["completion_tokens"], 24);
  EXPECT_EQ(served.watched.ledger.releases, 24);

  const RawAnswer streamed =
      Post(served.port(), kCompletions, CompletionBody(R"("n":3,"max_tokens":4,"stream":true)"));
  std::map<int, std::string> texts;
  for (const json& event : Events(streamed.body)) {
    texts[event["choices"][0]["index"]] += event["choices"][0]["text"];
  }
  ASSERT_EQ(texts.size(), 3u);
  for (const auto& [index, text] : texts) EXPECT_EQ(text.size(), 4u) << index;
  EXPECT_EQ(served.watched.ledger.releases, 36);
}

TEST(HttpServer, StopStringsEndTheText) {
  ServedEngine served;
  const RawAnswer answer = Post(served.port(), kCompletions,
                                CompletionBody(R"("max_tokens":60,"stop":["a","e","i","m"])"));
  const json choice = json::parse(answer.body)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(choice["text"].get<std::string>().find_first_of("aeim"), std::string::npos);
}

TEST(HttpServer, WrongRequestsHaveTheirStatus) {
  ServedEngineOptions options;
  options.http.listener.body_bytes = 4'096;
  ServedEngine served(options);
  const int port = served.port();
  const auto code = [](const RawAnswer& answer) {
    return json::parse(answer.body)["error"]["code"];
  };

  EXPECT_EQ(Post(port, kCompletions, "{").status, 400);
  EXPECT_EQ(Post(port, kCompletions, CompletionBody(R"("seed":1)")).status, 400);
  const RawAnswer model = Post(port, kCompletions, R"({"model":"gpt-4","prompt":"a"})");
  EXPECT_EQ(model.status, 404);
  EXPECT_EQ(code(model), "model_not_found");
  const RawAnswer context = Post(port, kCompletions, CompletionBody(R"("max_tokens":62)"));
  EXPECT_EQ(context.status, 400);
  EXPECT_EQ(code(context), "context_length_exceeded");
  EXPECT_EQ(code(Post(port, kCompletions,
                      R"({"model":"letters","prompt":")" + std::string(65, 'a') + "\"}")),
            "context_length_exceeded");
  const RawAnswer token = Post(port, kCompletions, R"({"model":"letters","prompt":[26]})");
  EXPECT_EQ(token.status, 400);
  EXPECT_EQ(json::parse(token.body)["error"]["param"], "prompt");
  const RawAnswer large =
      Post(port, kCompletions, CompletionBody("\"user\":\"" + std::string(5'000, 'a') + "\""));
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(json::parse(large.body)["error"]["type"], "invalid_request_error");
  EXPECT_EQ(Post(port, "/v1/embeddings", "{}").status, 404);
  EXPECT_EQ(Get(port, "/nowhere").status, 404);
  const RawAnswer get = Get(port, kCompletions);
  EXPECT_EQ(get.status, 405);
  EXPECT_THAT(get.head, HasSubstr("\r\nAllow: POST\r\n"));
  const RawAnswer erase = Ask(port, RequestText("DELETE", "/healthz", ""));
  EXPECT_EQ(erase.status, 405);
  EXPECT_THAT(erase.head, HasSubstr("\r\nAllow: GET, HEAD\r\n"));
  EXPECT_EQ(Ask(port, RequestText("POST", kCompletions, "")).status, 411);
  EXPECT_EQ(Post(port, kCompletions, CompletionBody(), "", "Content-Encoding: gzip\r\n").status,
            415);
  EXPECT_EQ(Post(port, kCompletions, CompletionBody(), "",
                 "Content-Encoding: identity\r\ncontent-encoding: gzip\r\n")
                .status,
            415);
  EXPECT_EQ(Post(port, kCompletions, CompletionBody(), "", "Transfer-Encoding: chunked\r\n").status,
            400);
  EXPECT_EQ(served.watched.ledger.releases, 0);
}

TEST(HttpServer, ChunkedBodiesHaveTheSameLimit) {
  ServedEngineOptions options;
  options.http.listener.body_bytes = 4'096;
  ServedEngine served(options);
  const std::string head =
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
      "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string body = CompletionBody();
  std::string size(8, '\0');
  size.resize(
      static_cast<std::size_t>(std::snprintf(size.data(), size.size(), "%zx", body.size())));
  EXPECT_EQ(Ask(served.port(), head + size + "\r\n" + body + "\r\n0\r\n\r\n").status, 200);
  std::string flood = head;
  for (int i = 0; i < 100; ++i) flood += "100\r\n" + std::string(256, ' ') + "\r\n";
  EXPECT_EQ(Ask(served.port(), flood).status, 413);
}

TEST(HttpServer, ModelsAndHealth) {
  ServedEngineOptions options;
  options.http.created = 7;
  ServedEngine served(options);
  EXPECT_EQ(json::parse(Get(served.port(), "/v1/models").body)["data"][0],
            json({{"id", "letters"}, {"object", "model"}, {"created", 7}, {"owned_by", "submix"}}));
  EXPECT_EQ(Get(served.port(), "/v1/models/letters").status, 200);
  EXPECT_EQ(Get(served.port(), "/v1/models/other").status, 404);
  EXPECT_EQ(Get(served.port(), "/healthz").status, 200);
  EXPECT_EQ(Get(served.port(), "/readyz").status, 200);
}

TEST(HttpServer, MetricsCountPublicThings) {
  ServedEngine served;
  Post(served.port(), kCompletions, CompletionBody(R"("max_tokens":5)"));
  Post(served.port(), kCompletions, CompletionBody(R"("seed":5)"));
  const RawAnswer answer = Get(served.port(), "/metrics");
  EXPECT_THAT(answer.head, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_THAT(answer.body, HasSubstr("\nsubmix_tokens_total 5\n"));
  EXPECT_THAT(answer.body, HasSubstr("submix_http_answers_total{status=\"200\"} 1\n"));
  EXPECT_THAT(answer.body, HasSubstr("submix_http_answers_total{status=\"400\"} 1\n"));
  for (const char* secret :
       {"spent", "budget", "charge", "part", "epsilon", "remaining", "seconds"}) {
    EXPECT_THAT(answer.body, Not(HasSubstr(secret)));
  }
  EXPECT_THAT(OperatorMetricsText(served.scheduler->counters()),
              HasSubstr("submix_step_seconds_bucket{le=\"+Inf\"} 5\n"));
  ServedEngineOptions options;
  options.http.metrics = false;
  EXPECT_EQ(Get(ServedEngine(options).port(), "/metrics").status, 404);
}

TEST(HttpServer, ABrokenPublicModelFailsOnlyItsRequest) {
  ServedEngine served;
  const base::TokenId q = 'q' - 'a';
  served.watched.predictor.fake.BreakPublicModelAfter(q);
  const std::string breaking = R"({"model":"letters","max_tokens":5,"prompt":"q"})";
  const RawAnswer answer = Post(served.port(), kCompletions, breaking);
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.head, HasSubstr("x-should-retry: false"));
  EXPECT_EQ(json::parse(answer.body)["error"]["code"], "no_prediction");
  EXPECT_THAT(answer.body, HasSubstr("the public model has no finite numbers"));
  EXPECT_EQ(served.watched.ledger.releases, 0);
  EXPECT_EQ(Get(served.port(), "/readyz").status, 200);
}

TEST(HttpServer, TheCacheAnswersAgainForFree) {
  engine::AnswerCache cache(1 << 20);
  ServedEngineOptions options;
  options.cache = &cache;
  ServedEngine served(options);
  const auto text = [&](const std::string& fields, std::string_view headers = "") {
    const RawAnswer answer = Post(served.port(), kCompletions, CompletionBody(fields), "", headers);
    return json::parse(answer.body)["choices"][0]["text"].get<std::string>();
  };
  const std::string first = text(R"("max_tokens":30)");
  EXPECT_EQ(text(R"("max_tokens":30)"), first);
  EXPECT_EQ(served.watched.ledger.releases, 30);
  EXPECT_NE(text(R"("max_tokens":30)", "Cache-Control: no-cache\r\n"), first);
  EXPECT_EQ(served.watched.ledger.releases, 60);
  text(R"("max_tokens":30,"n":2)");
  EXPECT_EQ(served.watched.ledger.releases, 120);
}

// All of its tokens are there before the first is taken.
TEST(HttpServer, ACachedStreamEndsThoughTextWasHeldBack) {
  engine::AnswerCache cache(1 << 20);
  ServedEngineOptions options;
  options.cache = &cache;
  ServedEngine served(options);
  const std::string body =
      CompletionBody(R"("max_tokens":60,"stream":true,"stop":["a!","e!","i!","m!"])");
  for (int time = 0; time < 2; ++time) {
    std::string text;
    for (const json& event : Events(Post(served.port(), kCompletions, body).body)) {
      text += event["choices"][0]["text"];
    }
    EXPECT_EQ(text.size(), 60u);
    EXPECT_NE(text.find_first_of("aeim"), std::string::npos) << "nothing was held back";
  }
  EXPECT_EQ(served.watched.ledger.releases, 60);
}

TEST(HttpServer, AClientThatHangsUpCancels) {
  ServedEngine served;
  for (const char* stream : {"true", "false"}) {
    const int before = served.watched.ledger.releases;
    served.watched.ledger.gate.Close();
    RawClient client(served.port());
    client.Send(RequestText("POST", kCompletions,
                            CompletionBody(R"("max_tokens":60,"stream":)" + std::string(stream))));
    ASSERT_TRUE(Eventually([&] { return served.scheduler->counters().live == 1; }));
    const auto cancelled = [&] { return served.records().size(); };
    const std::size_t known = cancelled();
    client.HangUp();
    ASSERT_TRUE(Eventually([&] { return cancelled() > known; }));
    served.watched.ledger.gate.Open();
    ASSERT_TRUE(Eventually([&] { return served.scheduler->counters().live == 0; }));
    EXPECT_EQ(served.records().back().status, 499);
    EXPECT_LE(served.watched.ledger.releases - before, 2) << stream;
  }
}

TEST(HttpServer, AHalfClosedClientIsGone) {
  ServedEngine served;
  served.watched.ledger.gate.Close();
  RawClient client(served.port());
  client.Send(
      RequestText("POST", kCompletions, CompletionBody(R"("max_tokens":60,"stream":true)")));
  client.CloseSendingHalf();
  EXPECT_TRUE(Eventually([&] { return served.records().size() == 1; }));
  EXPECT_EQ(served.records().back().status, 499);
  RawClient whole(served.port());
  whole.Send(RequestText("POST", kCompletions, CompletionBody(R"("max_tokens":60)")));
  whole.CloseSendingHalf();
  EXPECT_EQ(whole.ReadAll(), "") << "499 is for the records";
  EXPECT_EQ(served.records().back().status, 499);
}

TEST(HttpServer, SlowClientsAreCutOffAndDelayNobody) {
  ServedEngineOptions options;
  options.http.listener.connections = 8;
  options.http.listener.header_timeout = milliseconds(300);
  options.http.listener.body_timeout = milliseconds(300);
  ServedEngine served(options);
  const auto drip = [&](std::string_view start) {
    RawClient client(served.port());
    client.Send(start);
    const auto begin = steady_clock::now();
    std::string answer;
    // One byte every 50 ms is always in time for a time-out of one read.
    while (steady_clock::now() - begin < std::chrono::seconds(10) && client.Send("a")) {
      answer += client.Read(milliseconds(50));
      if (answer.find("\r\n\r\n") != std::string::npos) break;
    }
    EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(5));
    return ParseAnswer(answer).status;
  };
  std::thread header([&] { drip("GET /healthz HTTP/1.1\r\nX-Slow: "); });
  std::thread body([&] {
    EXPECT_EQ(drip("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"
                   "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"),
              408);
  });
  EXPECT_EQ(Post(served.port(), kCompletions, CompletionBody()).status, 200);
  header.join();
  body.join();
}

TEST(HttpServer, OneConnectionTooManyIsToldSo) {
  ServedEngineOptions options;
  options.http.listener.connections = 2;
  ServedEngine served(options);
  served.watched.ledger.gate.Close();
  const std::string request = RequestText("POST", kCompletions, CompletionBody());
  RawClient first(served.port());
  RawClient second(served.port());
  first.Send(request);
  second.Send(request);
  ASSERT_TRUE(Eventually([&] {
    const engine::Counters& counters = served.scheduler->counters();
    return counters.live + counters.waiting == 2;
  }));
  const RawAnswer answer = Get(served.port(), "/v1/models");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.head, HasSubstr("Retry-After"));
  EXPECT_EQ(Get(served.port(), "/readyz").status, 200);
  served.watched.ledger.gate.Open();
  EXPECT_EQ(ParseAnswer(first.ReadAll()).status, 200);
  EXPECT_EQ(ParseAnswer(second.ReadAll()).status, 200);
  EXPECT_TRUE(Eventually([&] { return Get(served.port(), "/v1/models").status == 200; }));
}

TEST(HttpServer, WhoOnlyWaitsMakesRoom) {
  ServedEngineOptions options;
  options.http.listener.connections = 2;
  ServedEngine served(options);
  RawClient first(served.port());
  first.Send("GET");
  RawClient second(served.port());
  second.Send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(second.Read(std::chrono::seconds(10)), HasSubstr("200 OK"));
  EXPECT_EQ(Get(served.port(), "/v1/models").status, 200);
  EXPECT_EQ(first.ReadAll(), "") << "it has waited longest";
}

TEST(HttpServer, AnswersAreCalledSomething) {
  ServedEngine served;
  const auto id = [](const RawAnswer& answer) {
    const std::string name = "x-request-id: ";
    const std::size_t at = answer.head.find(name);
    EXPECT_NE(at, std::string::npos) << answer.head;
    return answer.head.substr(at + name.size(), answer.head.find("\r", at) - at - name.size());
  };
  const RawAnswer whole =
      Post(served.port(), kCompletions, CompletionBody(), "", "X-Request-Id: mine\r\n");
  EXPECT_EQ(json::parse(whole.body)["id"], id(whole));
  const RawAnswer stream = Post(served.port(), kCompletions, CompletionBody(R"("stream":true)"));
  EXPECT_EQ(Events(stream.body)[0]["id"], id(stream));
  const std::string refused = id(Post(served.port(), kCompletions, "{"));
  EXPECT_TRUE(Eventually([&] {
    const auto records = served.records();
    return std::ranges::any_of(records, [&](const auto& record) { return record.id == refused; });
  }));
  EXPECT_NE(id(Get(served.port(), "/healthz")), id(Get(served.port(), "/healthz")));
  EXPECT_EQ(id(Ask(served.port(), "nonsense\r\n\r\n")).size(), 24u);
}

TEST(HttpServer, AFullQueueSaysLater) {
  ServedEngineOptions options;
  options.scheduler.max_live = 1;
  options.scheduler.max_waiting = 1;
  ServedEngine served(options);
  served.watched.ledger.gate.Close();
  RawClient live(served.port());
  live.Send(RequestText("POST", kCompletions, CompletionBody()));
  ASSERT_TRUE(Eventually([&] { return served.scheduler->counters().live == 1; }));
  RawClient waiting(served.port());
  waiting.Send(RequestText("POST", kCompletions, CompletionBody()));
  ASSERT_TRUE(Eventually([&] { return served.scheduler->counters().waiting == 1; }));
  const RawAnswer full = Post(served.port(), kCompletions, CompletionBody());
  EXPECT_EQ(full.status, 429);
  EXPECT_THAT(full.head, HasSubstr("Retry-After: 1"));
  EXPECT_EQ(json::parse(full.body)["error"]["code"], "rate_limit_exceeded");
  served.watched.ledger.gate.Open();
  EXPECT_EQ(ParseAnswer(live.ReadAll()).status, 200);
  EXPECT_EQ(ParseAnswer(waiting.ReadAll()).status, 200);
}

TEST(HttpServer, ARequestHasItsTime) {
  ServedEngineOptions options;
  options.http.request_time = milliseconds(100);
  ServedEngine served(options);
  served.watched.ledger.gate.Close();
  std::thread opener([&] {
    std::this_thread::sleep_for(milliseconds(400));
    served.watched.ledger.gate.Open();
  });
  const RawAnswer late = Post(served.port(), kCompletions, CompletionBody(R"("max_tokens":60)"));
  opener.join();
  EXPECT_EQ(late.status, 504);
  EXPECT_THAT(late.head, HasSubstr("x-should-retry: false"));
}

TEST(HttpServer, WithoutADurableChargeThereIsNoTextAndNoReason) {
  ServedEngine served;
  served.watched.ledger.broken = true;
  const RawAnswer streamed = Post(served.port(), kCompletions, CompletionBody(R"("stream":true)"));
  EXPECT_EQ(streamed.status, 200);  // its header left before the charge
  EXPECT_THAT(streamed.body, HasSubstr("data: {\"error\":"));
  EXPECT_THAT(streamed.body, Not(HasSubstr("\"text\"")));
  EXPECT_THAT(streamed.body, Not(HasSubstr("[DONE]")));
  EXPECT_THAT(streamed.body, Not(HasSubstr("secret")));
  for (const std::string& body : {CompletionBody(), CompletionBody(R"("stream":true)")}) {
    const RawAnswer refused = Post(served.port(), kCompletions, body);
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.head, HasSubstr("Retry-After"));
    EXPECT_THAT(refused.body, HasSubstr("could not be written down"));
    EXPECT_THAT(refused.body, Not(HasSubstr("secret")));
  }
  EXPECT_EQ(Get(served.port(), "/readyz").status, 503);
  EXPECT_EQ(Get(served.port(), "/healthz").status, 200);
  EXPECT_THAT(Get(served.port(), "/metrics").body, HasSubstr("\nsubmix_healthy 0\n"));
  served.watched.ledger.broken = false;
  EXPECT_TRUE(Eventually([&] { return Get(served.port(), "/readyz").status == 200; }));
  EXPECT_THAT(Get(served.port(), "/metrics").body, HasSubstr("\nsubmix_healthy 1\n"));
  EXPECT_EQ(Post(served.port(), kCompletions, CompletionBody()).status, 200);
}

TEST(HttpServer, AGracefulStopFinishesWhatRunsAndTakesNothingNew) {
  ServedEngine served;
  served.watched.ledger.gate.Close();
  RawClient running(served.port());
  running.Send(
      RequestText("POST", kCompletions, CompletionBody(R"("max_tokens":40,"stream":true)")));
  ASSERT_TRUE(Eventually([&] { return served.scheduler->counters().live == 1; }));
  std::thread stop([&] { served.http->Stop(steady_clock::now() + std::chrono::seconds(30)); });
  EXPECT_TRUE(Eventually([&] { return Get(served.port(), "/readyz").status == 503; }));
  EXPECT_EQ(Post(served.port(), kCompletions, CompletionBody()).status, 503);
  served.watched.ledger.gate.Open();
  const auto events = Events(ParseAnswer(running.ReadAll()).body);
  EXPECT_EQ(events.size(), 40u);
  stop.join();
  EXPECT_FALSE(RawClient(served.port()).connected());
}

TEST(HttpServer, AStopWithoutPatienceEndsWhatRuns) {
  ServedEngine served;
  served.watched.ledger.gate.Close();
  RawClient running(served.port());
  running.Send(RequestText("POST", kCompletions, CompletionBody(R"("max_tokens":40)")));
  ASSERT_TRUE(Eventually([&] { return served.scheduler->counters().live == 1; }));
  std::thread opener([&] {
    std::this_thread::sleep_for(milliseconds(200));
    served.watched.ledger.gate.Open();
  });
  served.http->Stop(steady_clock::now());
  opener.join();
  EXPECT_EQ(ParseAnswer(running.ReadAll()).status, 503);
}

TEST(HttpServer, TextThatCannotFitIsRefusedBeforeItIsEncoded) {
  ServedEngine served;  // a context of 64 tokens of one byte
  const auto ask = [&](std::size_t bytes) {
    return Post(served.port(), kCompletions,
                json({{"model", "letters"}, {"prompt", std::string(bytes, 'a')}, {"max_tokens", 1}})
                    .dump());
  };
  EXPECT_EQ(ask(63).status, 200);
  const RawAnswer one_token_too_many = ask(64);
  EXPECT_THAT(one_token_too_many.body, HasSubstr("64 in the prompt"));
  const RawAnswer hopeless = ask(65);
  EXPECT_EQ(hopeless.status, 400);
  const json error = json::parse(hopeless.body)["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["param"], "prompt");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("65 bytes"));
}

TEST(HttpServer, WhatTheEngineRefusesNamesTheFieldToo) {
  ServedEngineOptions options;
  options.scheduler.max_waiting_per_key = 2;
  ServedEngine served(options);
  const std::string chat = R"({"model":"letters","messages":[{"role":"user","content":"abc"}],)";
  for (const auto& [fields, param] :
       {std::pair{R"("top_k_plus":5)", "top_k_plus"},
        std::pair{R"("top_k":5,"top_k_plus":5)", "top_k_plus"}, std::pair{R"("n":3)", "n"}}) {
    for (const RawAnswer& answer :
         {Post(served.port(), kCompletions, CompletionBody(fields)),
          Post(served.port(), "/v1/chat/completions", chat + fields + "}")}) {
      EXPECT_EQ(answer.status, 400) << fields;
      EXPECT_EQ(json::parse(answer.body)["error"]["param"], param) << answer.body;
    }
  }
}

}  // namespace http_server_test
}  // namespace submix::server
