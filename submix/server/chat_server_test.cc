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
  base::StatusOr<std::vector<base::TokenId>> Encode(std::string_view bytes) const override {
    return letters_.Encode(bytes);
  }
  base::StatusOr<std::vector<base::TokenId>> EncodeTemplated(
      std::string_view text, const std::vector<bool>& is_of_template,
      std::span<const base::TokenId> /*more_markers*/) const override {
    std::vector<base::TokenId> tokens;
    for (std::size_t i = 0; i < text.size();) {
      const std::string_view marker = text.substr(i, text.substr(i).find('>') + 1);
      const auto token = is_of_template[i] ? special_token(marker) : std::nullopt;
      tokens.push_back(token ? *token : Encode(text.substr(i, 1))->front());
      i += token ? marker.size() : 1;
    }
    return tokens;
  }
  std::string Decode(std::span<const base::TokenId> tokens) const override {
    return letters_.Decode(tokens);
  }

 private:
  const engine::LetterTokenizer letters_{};
};

TEST(ChatServer, ChatsAreWrittenAndEndAsTheModelsTemplateSays) {
  const MarkedLetters tokenizer;
  const base::TemporaryDirectory directory;
  directory.Write("chat_template.jinja",
                  "{% if messages[0].role == 'assistant' %}{{ raise_exception('Turns must "
                  "alternate: \"' ~ messages[0].content ~ '\"') }}{% endif %}"
                  "{% for m in messages %}{{ '<start_of_turn>' + m.role + '\n' + m.content | trim "
                  "+ '<end_of_turn>\n' }}{% endfor %}{{ '<start_of_turn>model\n' }}");
  ServedEngineOptions options;
  options.http.chat_format = chat::ChatFormat::Load(directory.path(), "", tokenizer).value();
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
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("Turns must alternate: \"a\""));
}

}  // namespace chat_server_test
}  // namespace submix::server
