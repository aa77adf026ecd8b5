#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "submix/server/testing/raw_client.h"
#include "submix/server/testing/served_engine.h"

namespace submix::server {
namespace shaped_server_test {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

RawAnswer Ask(const ServedEngine& served, const std::string& fields) {
  return Post(served.port(), "/v1/completions",
              R"({"model":"letters","prompt":"a",)" + fields + "}");
}

json Told(const ServedEngine& served, const std::string& fields) {
  const RawAnswer answer = Ask(served, fields);
  EXPECT_EQ(answer.status, 400) << answer.body;
  return json::parse(answer.body)["error"];
}

TEST(ShapedServer, AnswersHaveTheShape) {
  ServedEngine served;
  const auto answer = [&](const std::string& fields) {
    const RawAnswer whole = Ask(served, fields);
    EXPECT_EQ(whole.status, 200) << whole.body;
    const json choice = json::parse(whole.body)["choices"][0];
    EXPECT_EQ(choice["finish_reason"], "stop");
    return choice["text"].get<std::string>();
  };
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(answer(R"("guided_choice":["good","bad"],"top_k":1)"), AnyOf("good", "bad"));
    EXPECT_THAT(answer(R"("guided_regex":"x[ab]{2,9}y","max_tokens":6)"), MatchesRegex("x[ab]+y"));
    EXPECT_THAT(answer(R"("guided_json":{"anyOf":[{"type":"null"},{"type":"boolean"}]})"),
                AnyOf("null", "true", "false"));
  }
  const RawAnswer chat = Post(served.port(), "/v1/chat/completions",
                              R"({"model":"letters","messages":[{"role":"user","content":"a"}],
                                  "response_format":{"type":"json_schema","json_schema":{"name":"n",
                                  "schema":{"const":null}}}})");
  ASSERT_EQ(chat.status, 200) << chat.body;
  EXPECT_EQ(json::parse(chat.body)["choices"][0]["message"]["content"], "null");
}

TEST(ShapedServer, WhatIsForcedIsCountedAndNotCharged) {
  ServedEngine served;
  const RawAnswer answer = Ask(served, R"("guided_choice":["forced"],"n":2)");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["usage"]["completion_tokens"], 12);
  EXPECT_EQ(served.watched.ledger.transactions, 0);
}

TEST(ShapedServer, RefusesBeforeAnythingIsCharged) {
  ServedEngine served;
  json error = Told(served, R"("guided_regex":"(")");
  EXPECT_EQ(error["param"], "guided_regex");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("( without"));
  error = Told(served, R"("guided_regex":"[a-z]{20}","max_tokens":19)");
  EXPECT_EQ(error["param"], "max_tokens");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("takes 20 tokens"));
  error = Told(served, R"("guided_json":{"type":"integer","minimum":3})");
  EXPECT_EQ(error["param"], "guided_json");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("\"minimum\""));
  error = Told(served, R"("response_format":{"type":"json_object"})");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("cannot spell"));
  EXPECT_EQ(served.watched.ledger.transactions, 0);
}

}  // namespace shaped_server_test
}  // namespace submix::server
