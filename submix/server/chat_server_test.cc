#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "submix/base/testing/temporary_directory.h"
#include "submix/server/http_server.h"
#include "submix/server/testing/raw_client.h"
#include "submix/server/testing/served_engine.h"

namespace submix::server {
namespace chat_server_test {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kChat = "/v1/chat/completions";

TEST(ChatServer, AnswersWhereTheContextAllows) {
  ServedEngine served;
  const RawAnswer answer =
      Post(served.port(), kChat,
           R"({"model":"letters","messages":[{"role":"user","content":"hello"}]})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json object = json::parse(answer.body);
  EXPECT_EQ(object["choices"][0]["message"]["role"], "assistant");
  // "User: hello\n\nAssistant:", and the rest of a context of 64.
  EXPECT_EQ(object["usage"]["prompt_tokens"], 23);
  EXPECT_EQ(object["usage"]["completion_tokens"], 41);
}

TEST(ChatServer, StreamsAnAnswer) {
  ServedEngine served;
  const RawAnswer answer = Post(served.port(), kChat,
                                R"({"model":"letters","max_tokens":3,"stream":true,
                                    "messages":[{"role":"user","content":"hello"}]})");
  ASSERT_EQ(answer.status, 200);
  const auto events = Events(answer.body);
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(events[4]["choices"][0]["delta"], json::object());
  EXPECT_EQ(events[4]["choices"][0]["finish_reason"], "length");
}

// Letters, of which the last two are markers.
class MarkedLetters final : public tokenizer::Tokenizer {
 public:
  static constexpr base::TokenId kStart = 24, kEnd = 25;

  int vocab_size() const override { return letters_.vocab_size(); }
  std::size_t longest_token_bytes() const override { return 1; }
  base::TokenId end_of_text() const override { return letters_.end_of_text(); }
  std::optional<base::TokenId> special_token(std::string_view content) const override {
    if (content == "<start_of_turn>") return kStart;
    if (content == "<end_of_turn>") return kEnd;
    return std::nullopt;
  }
  std::vector<base::TokenId> Encode(std::string_view bytes) const override {
    return letters_.Encode(bytes);
  }
  std::string Decode(std::span<const base::TokenId> tokens) const override {
    return letters_.Decode(tokens);
  }

 private:
  const engine::LetterTokenizer letters_{};
};

TEST(ChatServer, ChatsAreWrittenAndEndAsTheModelsFormatSays) {
  const MarkedLetters tokenizer;
  const base::TemporaryDirectory directory;
  ServedEngineOptions options;
  options.http.chat_format = chat::ChatFormat::Load(directory.path(), "gemma3", tokenizer).value();
  ServedEngine served(options);
  const auto ask = [&](const std::string& messages) {
    return Post(served.port(), kChat,
                R"({"model":"letters","max_tokens":40,"messages":[)" + messages + "]}");
  };
  for (int round = 0; round < 20; ++round) {
    const RawAnswer answer = ask(R"({"role":"user","content":" hi "})");
    ASSERT_EQ(answer.status, 200) << answer.body;
    const json object = json::parse(answer.body);
    EXPECT_EQ(object["usage"]["prompt_tokens"], 17);  // #user.hi#.#model.
    const json& choice = object["choices"][0];
    EXPECT_EQ(choice["message"]["content"].get<std::string>().find('z'), std::string::npos);
    if (choice["finish_reason"] == "stop") break;
    EXPECT_LT(round, 19) << "no turn ended";
  }
  const RawAnswer refused = ask(R"({"role":"assistant","content":"a"})");
  EXPECT_EQ(refused.status, 400);
  const json error = json::parse(refused.body)["error"];
  EXPECT_EQ(error["param"], "messages");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("alternate"));
}

}  // namespace chat_server_test
}  // namespace submix::server
