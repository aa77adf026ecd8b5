#include "submix/server/openai_response.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace submix::server {
namespace openai_response_test {

using engine::AnswerEnd;
using nlohmann::json;

// The objects of some events.
std::vector<json> Objects(std::string_view events) {
  std::vector<json> objects;
  while (!events.empty()) {
    EXPECT_TRUE(events.starts_with("data: ")) << events;
    const std::size_t end = events.find("\n\n");
    objects.push_back(json::parse(events.substr(6, end - 6)));
    events.remove_prefix(end + 2);
  }
  return objects;
}

ResponseWriter Writer(Endpoint endpoint, bool include_usage = false) {
  return ResponseWriter(endpoint, "abc", 1'700'000'000, "m", include_usage);
}

TEST(OpenAiResponse, ACompletion) {
  const Choice choices[] = {{0, "one", AnswerEnd::kStop}, {1, "two", AnswerEnd::kMaxTokens}};
  EXPECT_EQ(json::parse(Writer(Endpoint::kCompletions).Whole(choices, {3, 4})), json::parse(R"({
      "id":"cmpl-abc","object":"text_completion","created":1700000000,"model":"m",
      "choices":[{"index":0,"text":"one","logprobs":null,"finish_reason":"stop"},
                 {"index":1,"text":"two","logprobs":null,"finish_reason":"length"}],
      "usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}})"));
}

TEST(OpenAiResponse, AChat) {
  const Choice choice{0, "hi", AnswerEnd::kStop};
  EXPECT_EQ(json::parse(Writer(Endpoint::kChat).Whole({&choice, 1}, {3, 4})), json::parse(R"({
      "id":"chatcmpl-abc","object":"chat.completion","created":1700000000,"model":"m",
      "choices":[{"index":0,"message":{"role":"assistant","content":"hi","refusal":null},
                  "logprobs":null,"finish_reason":"stop"}],
      "usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}})"));
}

TEST(OpenAiResponse, AStreamOfACompletion) {
  const ResponseWriter writer = Writer(Endpoint::kCompletions);
  EXPECT_EQ(writer.OpeningEvent(0), "");
  EXPECT_THAT(Objects(writer.Event({1, "x"})), testing::ElementsAre(json::parse(R"({
      "id":"cmpl-abc","object":"text_completion","created":1700000000,"model":"m",
      "choices":[{"index":1,"text":"x","logprobs":null,"finish_reason":null}]})")));
}

TEST(OpenAiResponse, AStreamOfAChatEndsWithAnEmptyDelta) {
  const ResponseWriter writer = Writer(Endpoint::kChat);
  const auto events = Objects(writer.OpeningEvent(0) + writer.Event({0, "x"}) +
                              writer.Event({0, "y", AnswerEnd::kStop}));
  std::vector<json> choices;
  for (const json& event : events) {
    EXPECT_EQ(event["object"], "chat.completion.chunk");
    EXPECT_FALSE(event.contains("usage"));
    choices.push_back(event["choices"][0]);
  }
  EXPECT_THAT(
      choices,
      testing::ElementsAre(
          json::parse(
              R"({"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null})"),
          json::parse(
              R"({"index":0,"delta":{"content":"x"},"logprobs":null,"finish_reason":null})"),
          json::parse(
              R"({"index":0,"delta":{"content":"y"},"logprobs":null,"finish_reason":null})"),
          json::parse(R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"})")));
}

TEST(OpenAiResponse, UsageComesLastAndIsNullBefore) {
  const ResponseWriter writer = Writer(Endpoint::kChat, /*include_usage=*/true);
  const auto events =
      Objects(writer.OpeningEvent(0) + writer.Event({0, "x"}) + writer.UsageEvent({1, 2}));
  EXPECT_TRUE(events[0]["usage"].is_null() && events[0].contains("usage"));
  EXPECT_TRUE(events[1]["usage"].is_null() && events[1].contains("usage"));
  EXPECT_EQ(events[2]["choices"], json::array());
  EXPECT_EQ(events[2]["usage"]["total_tokens"], 3);
}

TEST(OpenAiResponse, BytesThatAreNoUtf8BecomeReplacementCharacters) {
  const auto events = Objects(Writer(Endpoint::kCompletions).Event({0, "a\xff\n\n"}));
  EXPECT_EQ(events[0]["choices"][0]["text"], "a\xEF\xBF\xBD\n\n");
}

TEST(OpenAiResponse, ErrorsAndModels) {
  EXPECT_EQ(json::parse(ErrorBody({.status = 404, .message = "no", .param = "model"})),
            json::parse(R"({"error":{"message":"no","type":"invalid_request_error",
                                     "param":"model","code":null}})"));
  EXPECT_EQ(Objects(ErrorEvent({.message = "no"}))[0]["error"]["message"], "no");
  EXPECT_EQ(json::parse(ModelListBody("m", 5)), json::parse(R"({"object":"list","data":[
      {"id":"m","object":"model","created":5,"owned_by":"submix"}]})"));
  EXPECT_EQ(json::parse(ModelBody("m", 5))["id"], "m");
}

}  // namespace openai_response_test
}  // namespace submix::server
