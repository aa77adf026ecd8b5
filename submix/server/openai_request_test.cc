#include "submix/server/openai_request.h"

#include <gmock/gmock.h>

namespace submix::server {
namespace openai_request_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::variant<CompletionCall, ApiError> Parse(std::string_view body,
                                             Endpoint endpoint = Endpoint::kCompletions,
                                             const ParseOptions& options = {}) {
  return ParseCall(endpoint, body, options);
}

CompletionCall Call(std::string_view body, Endpoint endpoint = Endpoint::kCompletions) {
  auto parsed = Parse(body, endpoint);
  if (const auto* error = std::get_if<ApiError>(&parsed)) {
    ADD_FAILURE() << body << ": " << error->message;
    return {};
  }
  return std::get<CompletionCall>(parsed);
}

ApiError Error(std::string_view body, Endpoint endpoint = Endpoint::kCompletions) {
  auto parsed = Parse(body, endpoint);
  if (std::holds_alternative<CompletionCall>(parsed)) {
    ADD_FAILURE() << body << " was accepted";
    return {};
  }
  return std::get<ApiError>(parsed);
}

// A completion, and a chat, with one more field.
std::string Completion(const std::string& field) {
  return R"({"model":"m","prompt":"a")" + (field.empty() ? "" : "," + field) + "}";
}
std::string Chat(const std::string& field) {
  return R"({"model":"m","messages":[{"role":"user","content":"a"}])" +
         (field.empty() ? "" : "," + field) + "}";
}

TEST(OpenAiRequest, EveryAcceptedFieldArrives) {
  const CompletionCall call = Call(
      R"({"model":"m","prompt":"abc","max_tokens":5,"temperature":0.5,"top_p":0.9,"top_k":7,"n":3,
          "best_of":3,"stream":true,"stream_options":{"include_usage":true},"stop":["x","yy"],
          "user":"u","metadata":{"a":"b"},"store":false,"service_tier":"auto"})");
  EXPECT_EQ(call.model, "m");
  EXPECT_THAT(call.prompts, ElementsAre(Prompt("abc")));
  EXPECT_TRUE(call.has_max_tokens);
  EXPECT_EQ(call.settings.max_tokens, 5);
  EXPECT_EQ(call.settings.sampling.temperature, 0.5);
  EXPECT_EQ(call.settings.sampling.top_p, 0.9);
  EXPECT_EQ(call.settings.sampling.top_k, 7);
  EXPECT_EQ(Call(Completion("\"top_k_plus\":9")).settings.sampling.top_k_plus, 9);
  EXPECT_EQ(call.n, 3);
  EXPECT_TRUE(call.stream);
  EXPECT_TRUE(call.include_usage);
  EXPECT_THAT(call.settings.stop, ElementsAre("x", "yy"));
}

TEST(OpenAiRequest, DefaultsAreOpenAis) {
  const CompletionCall call = Call(Completion(""));
  EXPECT_FALSE(call.has_max_tokens);
  EXPECT_EQ(call.settings.max_tokens, 16);
  EXPECT_EQ(call.settings.sampling.temperature, 1);
  EXPECT_EQ(call.settings.sampling.top_p, 1);
  EXPECT_EQ(call.n, 1);
  EXPECT_FALSE(call.stream);
  EXPECT_FALSE(call.include_usage);
  EXPECT_TRUE(call.settings.stop.empty());
}

TEST(OpenAiRequest, PromptsOfEveryForm) {
  using Tokens = std::vector<base::TokenId>;
  const auto prompts = [](const std::string& prompt) {
    return Call(R"({"model":"m","prompt":)" + prompt + "}").prompts;
  };
  EXPECT_THAT(prompts(R"("a")"), ElementsAre(Prompt("a")));
  EXPECT_THAT(prompts(R"(["a","b"])"), ElementsAre(Prompt("a"), Prompt("b")));
  EXPECT_THAT(prompts("[1,2]"), ElementsAre(Prompt(Tokens{1, 2})));
  EXPECT_THAT(prompts("[[1,2],[3]]"), ElementsAre(Prompt(Tokens{1, 2}), Prompt(Tokens{3})));
  for (const char* wrong :
       {"1", "{}", "[]", "[[]]", "\"\"", "[\"\"]", "[-1]", "[1.5]", "[1,\"a\"]", "[\"a\",1]",
        "[2147483648]", "[18446744073709551615]", "null", "true", "[null]", "[[[1]]]"}) {
    EXPECT_EQ(Error(R"({"model":"m","prompt":)" + std::string(wrong) + "}").param, "prompt")
        << wrong;
  }
}

TEST(OpenAiRequest, ChatsAreConversations) {
  const CompletionCall call = Call(
      R"({"model":"m","max_completion_tokens":9,"messages":[
          {"role":"system","content":"be kind"},
          {"role":"developer","content":"be brief"},
          {"role":"user","content":[{"type":"text","text":"hel"},{"type":"text","text":"lo"}]},
          {"role":"assistant","content":"hi","tool_calls":[]},
          {"role":"user","content":"bye"}]})",
      Endpoint::kChat);
  using chat::ChatRole;
  EXPECT_THAT(call.prompts, ElementsAre(Prompt(Conversation{{ChatRole::kSystem, "be kind"},
                                                            {ChatRole::kSystem, "be brief"},
                                                            {ChatRole::kUser, "hello"},
                                                            {ChatRole::kAssistant, "hi"},
                                                            {ChatRole::kUser, "bye"}})));
  EXPECT_EQ(call.settings.max_tokens, 9);
  EXPECT_THAT(call.settings.stop, IsEmpty());
}

TEST(OpenAiRequest, MalformedMessagesAreRefused) {
  for (const char* wrong :
       {"null", "[]", "{}", "\"a\"", "[1]", "[{}]", R"([{"role":"user"}])",
        R"([{"role":"user","content":null}])", R"([{"role":"user","content":1}])",
        R"([{"role":1,"content":"a"}])", R"([{"role":"tool","content":"a"}])",
        R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])",
        R"([{"role":"user","content":[{"type":"text"}]}])",
        R"([{"role":"user","content":[{"type":"text","text":1}]}])",
        R"([{"role":"user","content":["a"]}])",
        R"([{"role":"assistant","content":"a","tool_calls":[{"id":"x"}]}])",
        R"([{"role":"user","content":"a","name":"bob"}])"}) {
    const std::string body = R"({"model":"m","messages":)" + std::string(wrong) + "}";
    EXPECT_EQ(Error(body, Endpoint::kChat).param, "messages") << wrong;
  }
  EXPECT_EQ(Error(Chat(R"("prompt":"a")"), Endpoint::kChat).param, "prompt");
  EXPECT_EQ(Error(Completion(R"("messages":[1])")).param, "messages");
}

struct Refusal {
  const char* field;
  const char* value;
  const char* why;
};

TEST(OpenAiRequest, WhatStepsOutsideTheAccountingIsRefusedWithItsReason) {
  constexpr Refusal kRefusals[] = {
      {"logprobs", "true", "reveal"},
      {"logprobs", "5", "reveal"},
      {"top_logprobs", "2", "reveal"},
      {"seed", "7", "randomness"},
      {"seed", "-1", "randomness"},
      {"logit_bias", R"({"50256":-100})", "steer"},
      {"presence_penalty", "0.1", "steer"},
      {"frequency_penalty", "-2", "steer"},
      {"suffix", "\"end\"", "continue"},
      {"echo", "true", "prompt"},
      {"tools", R"([{"type":"function"}])", "no tools"},
      {"tool_choice", "\"auto\"", "no tools"},
      {"functions", "[{}]", "no tools"},
      {"function_call", "\"f\"", "no tools"},
      {"parallel_tool_calls", "true", "no tools"},
  };
  for (const auto& [field, value, why] : kRefusals) {
    const std::string with = "\"" + std::string(field) + "\":" + value;
    for (const auto& [body, endpoint] : {std::pair(Completion(with), Endpoint::kCompletions),
                                         std::pair(Chat(with), Endpoint::kChat)}) {
      const ApiError error = Error(body, endpoint);
      EXPECT_EQ(error.status, 400) << body;
      EXPECT_EQ(error.param, field) << body;
      EXPECT_EQ(error.code, "unsupported_parameter") << body;
      EXPECT_THAT(error.message, HasSubstr(why)) << body;
    }
    for (const char* absent : {"null", "false", "0", "0.0", "\"\"", "{}", "[]"}) {
      const std::string without = "\"" + std::string(field) + "\":" + absent;
      Call(Completion(without));
      Call(Chat(without), Endpoint::kChat);
    }
  }
}

TEST(OpenAiRequest, BestOfIsAtMostAndAtLeastN) {
  EXPECT_EQ(Error(Completion(R"("best_of":2)")).param, "best_of");
  EXPECT_EQ(Error(Completion(R"("n":3,"best_of":2)")).param, "best_of");
  EXPECT_EQ(Call(Completion(R"("n":2,"best_of":2)")).n, 2);
  for (const char* absent : {"null", "false", "0", "0.0", "\"\"", "[]", "{}"}) {
    EXPECT_EQ(Call(Completion("\"n\":2,\"best_of\":" + std::string(absent))).n, 2);
  }
  for (const char* wrong : {"-2", "2.0", "true", "\"2\"", "[2]"}) {
    EXPECT_EQ(Error(Completion("\"n\":2,\"best_of\":" + std::string(wrong))).param, "best_of");
  }
}

TEST(OpenAiRequest, AnswersAreTextForBothEndpoints) {
  for (const char* field : {"response_format", "modalities"}) {
    const std::string name = "\"" + std::string(field) + "\":";
    for (const char* wrong : {R"({"type":"audio"})", R"({"type":"json_schema"})", "\"text\"",
                              R"(["audio"])", R"(["text","audio"])", "true", "1"}) {
      EXPECT_EQ(Error(Completion(name + wrong)).param, field) << wrong;
      EXPECT_EQ(Error(Chat(name + wrong), Endpoint::kChat).param, field) << wrong;
    }
    for (const char* absent : {"null", "false", "0", "\"\"", "[]", "{}"}) {
      EXPECT_FALSE(Call(Completion(name + absent)).shape);
      EXPECT_FALSE(Call(Chat(name + absent), Endpoint::kChat).shape);
    }
  }
  const std::string text = R"("response_format":{"type":"text"},"modalities":["text"])";
  EXPECT_FALSE(Call(Completion(text)).shape);
  EXPECT_FALSE(Call(Chat(text), Endpoint::kChat).shape);
}

TEST(OpenAiRequest, ValuesOutOfRangeAreRefused) {
  constexpr std::pair<const char*, const char*> kWrong[] = {
      {"n", "0"},
      {"n", "-1"},
      {"n", "1.5"},
      {"n", "\"2\""},
      {"n", "65"},
      {"n", "18446744073709551615"},
      {"max_tokens", "0"},
      {"max_tokens", "-5"},
      {"max_tokens", "2e3"},
      {"max_tokens", "99999999999"},
      {"temperature", "0"},
      {"temperature", "-1"},
      {"temperature", "2.1"},
      {"temperature", "\"1\""},
      {"top_p", "0"},
      {"top_p", "1.01"},
      {"top_p", "[]"},
      {"top_k", "-1"},
      {"top_k", "1.5"},
      {"top_k_plus", "-1"},
      {"stream", "1"},
      {"stop", "1"},
      {"stop", "\"\""},
      {"stop", "[\"a\",\"b\",\"c\",\"d\",\"e\"]"},
      {"stop", "[1]"},
      {"stop", "[\"\"]"},
      {"stream_options", "1"},
      {"stream_options", "{\"include_usage\":true}"},
      {"max_completion_tokens", "1"}};
  for (const auto& [field, value] : kWrong) {
    EXPECT_EQ(Error(Completion("\"" + std::string(field) + "\":" + value)).param, field) << value;
  }
  EXPECT_EQ(Error(Completion("\"stop\":\"" + std::string(257, 'a') + "\"")).param, "stop");
  EXPECT_EQ(Error(Completion(R"("stream":true,"stream_options":{"include_usage":1})")).param,
            "stream_options.include_usage");
  EXPECT_EQ(Error(Chat(R"("max_tokens":1,"max_completion_tokens":2)"), Endpoint::kChat).param,
            "max_completion_tokens");
  Call(Chat(R"("tool_choice":"none")"), Endpoint::kChat);
}

TEST(OpenAiRequest, PromptsTimesNIsBounded) {
  EXPECT_EQ(Error(R"({"model":"m","prompt":["a","b"],"n":33})").param, "n");
  EXPECT_EQ(Call(R"({"model":"m","prompt":["a","b"],"n":32})").n, 32);
  EXPECT_THAT(Error(Completion(R"("n":65537)")).message, HasSubstr("between 1 and 64."));
}

TEST(OpenAiRequest, TheModelIsNamed) {
  EXPECT_EQ(Error(R"({"prompt":"a"})").param, "model");
  EXPECT_EQ(Error(R"({"prompt":"a","model":1})").param, "model");
}

TEST(OpenAiRequest, UnknownFieldsAreRefusedInStrictModeOnly) {
  const std::string body = Completion(R"("guided_grammar":"{}")");
  const ApiError error = Error(body);
  EXPECT_EQ(error.param, "guided_grammar");
  EXPECT_EQ(error.code, "unknown_parameter");
  ParseOptions lenient;
  lenient.strict_fields = false;
  EXPECT_TRUE(std::holds_alternative<CompletionCall>(Parse(body, Endpoint::kCompletions, lenient)));

  const std::string within =
      Completion(R"("stream":true,"stream_options":{"include_usage":true,"include_all":true})");
  EXPECT_EQ(Error(within).param, "stream_options.include_all");
  EXPECT_EQ(Error(within).code, "unknown_parameter");
  const auto parsed = Parse(within, Endpoint::kCompletions, lenient);
  ASSERT_TRUE(std::holds_alternative<CompletionCall>(parsed));
  EXPECT_TRUE(std::get<CompletionCall>(parsed).include_usage);
}

TEST(OpenAiRequest, HostileJsonIsRefused) {
  const std::string nul("{\"model\":\"m\",\"prompt\":\"a\"}\0{}", 29);
  const std::string deep = Completion("\"user\":" + std::string(500'000, '['));
  const std::string deep_and_closed =
      Completion("\"user\":" + std::string(40, '[') + std::string(40, ']'));
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"),
        std::string("\"a\""), std::string("{}{}"), std::string(R"({"model":"m","prompt":"a"} x)"),
        std::string(R"({"model":"m","prompt":"a","prompt":"b"})"),
        std::string(R"({"model":"m","prompt":"a","stream_options":{"a":1,"a":2}})"),
        Completion("\"top_k\":1e999"), Completion("\"user\":\"\xff\xfe\""),
        Completion("\"user\":\"\xed\xa0\x80\""), Completion("\"user\":\"\\ud800\""),
        Completion("\"user\":NaN"), Completion("\"user\":\"a\nb\""), nul, deep, deep_and_closed}) {
    const ApiError error = Error(body);
    EXPECT_EQ(error.status, 400);
    EXPECT_EQ(error.type, "invalid_request_error");
    EXPECT_THAT(error.message, HasSubstr("not the JSON object"));
    EXPECT_LT(error.message.size(), 200u);
  }
}

TEST(OpenAiRequest, DepthIsCountedInObjectsAndArrays) {
  const auto nested = [](std::size_t levels) {  // the body is the first of them
    return Completion("\"metadata\":" + std::string(levels - 1, '[') +
                      std::string(levels - 1, ']'));
  };
  Call(nested(32));
  EXPECT_THAT(Error(nested(33)).message, HasSubstr("nested too deeply"));
}

// What a megabyte of the smallest values would take in memory is some hundred times as much.
TEST(OpenAiRequest, ValuesAreCounted) {
  const auto holding = [](int values) {  // the body, the two texts and the list are four of them
    std::string list = "{}";
    for (int i = 5; i < values; ++i) list += i % 2 == 0 ? ",{}" : ",1";
    return Completion("\"metadata\":[" + list + "]");
  };
  Call(holding(1 << 17));
  EXPECT_THAT(Error(holding((1 << 17) + 1)).message, HasSubstr("more than 131072 values"));
}

// An error never repeats what was sent but the names of fields: it may be logged elsewhere.
TEST(OpenAiRequest, ErrorsDoNotRepeatText) {
  for (const std::string& body :
       {std::string(R"({"model":"m","prompt":"my secret"x)"),
        std::string(R"({"model":"m","prompt":"my secret","n":"my secret"})"),
        std::string(R"({"model":"m","prompt":["my secret",[]]})")}) {
    EXPECT_THAT(Error(body).message, testing::Not(HasSubstr("secret")));
  }
}

}  // namespace openai_request_test
}  // namespace submix::server
