#include "submix/chat/chat_template.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::chat {
namespace chat_template_test {

using base::StatusCode;
using base::StatusIs;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ChatTemplateTest : public ::testing::Test {
 protected:
  void Write(const std::string& file, const json& content) {
    directory_.Write(file, content.dump());
  }
  base::StatusOr<ChatTemplate> Load() { return LoadChatTemplate(directory_.path()); }

  const base::TemporaryDirectory directory_;
};

TEST_F(ChatTemplateTest, ModelsWithoutATemplateArePlain) {
  EXPECT_EQ(Load()->name, "plain");
  Write("tokenizer_config.json", {{"chat_template", nullptr}});
  EXPECT_EQ(Load()->name, "plain");
  EXPECT_EQ(Load()->source, NamedChatTemplate(directory_.path(), "plain")->source);
}

TEST_F(ChatTemplateTest, StandsWhereHuggingFacesLibraryLooks) {
  Write("chat_template.json", {{"chat_template", "of a processor"}});
  EXPECT_EQ(Load()->source, "of a processor");
  Write("tokenizer_config.json", {{"chat_template", "of the configuration"}});
  EXPECT_EQ(Load()->source, "of the configuration");
  EXPECT_EQ(Load()->name, "tokenizer_config.json");
  directory_.Write("chat_template.jinja", "of its own file\n");
  EXPECT_EQ(Load()->source, "of its own file\n");
  EXPECT_EQ(Load()->name, "chat_template.jinja");
}

TEST_F(ChatTemplateTest, ListsOfTemplatesHaveADefault) {
  const json tools = {{"name", "tool_use"}, {"template", "{{ tools }}"}};
  const json usual = {{"name", "default"}, {"template", "usual"}};
  Write("tokenizer_config.json", {{"chat_template", json::array({tools, usual})}});
  EXPECT_EQ(Load()->source, "usual");
  Write("tokenizer_config.json", {{"chat_template", json::array({tools})}});
  EXPECT_THAT(Load(), StatusIs(StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("chat_template"), HasSubstr("default"))));
}

TEST_F(ChatTemplateTest, SpecialTokensAreTextsOrObjects) {
  Write("tokenizer_config.json", {{"bos_token", {{"content", "<s>"}, {"special", true}}},
                                  {"eos_token", "</s>"},
                                  {"pad_token", nullptr},
                                  {"chat_template", "x"}});
  Write("special_tokens_map.json", {{"eos_token", "other"}, {"unk_token", "<unk>"}});
  EXPECT_THAT(
      Load()->special_tokens,
      ElementsAre(Pair("bos_token", "<s>"), Pair("eos_token", "</s>"), Pair("unk_token", "<unk>")));
  EXPECT_EQ(NamedChatTemplate(directory_.path(), "chatml")->special_tokens.size(), 3u);
}

}  // namespace chat_template_test
}  // namespace submix::chat
