#include "submix/chat/chat_template.h"

#include <nlohmann/json.hpp>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::chat {
namespace chat_template_test {

using base::StatusCode;
using base::StatusIs;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

// What the families' templates have in common with all of their kind; "\\n" is how most of them
// write the end of a line.
const char kChatMl[] =
    "{% for message in messages %}"
    "{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\\nYou are kind.<|im_end|>\\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
const char kLlama31[] =
    "{{- bos_token }}{%- if not date_string is defined %}"
    "{%- set date_string = \"26 Jul 2024\" %}{%- endif %}"
    "{{- \"Cutting Knowledge Date: December 2023\\n\" }}"
    "{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | "
    "trim + '<|eot_id|>' }}";
const char kMistral3[] =
    "{{- bos_token }}{{- \"[INST] \" + message[\"content\"] + \"[/INST]\" }}"
    "{{- \" \" + message[\"content\"]|trim + eos_token}}";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

class ChatTemplateTest : public ::testing::Test {
 protected:
  void Write(const json& chat_template) {
    directory_.Write("tokenizer_config.json",
                     json({{"bos_token", {{"content", "<s>"}, {"special", true}}},
                           {"chat_template", chat_template}})
                         .dump());
  }
  base::StatusOr<ChatStyle> StyleOf(const json& chat_template) {
    Write(chat_template);
    return RecognizeChatStyle(directory_.path());
  }

  const base::TemporaryDirectory directory_;
};

TEST_F(ChatTemplateTest, ModelsWithoutATemplateArePlain) {
  EXPECT_EQ(RecognizeChatStyle(directory_.path())->format, "plain");
  directory_.Write("tokenizer_config.json", R"({"chat_template": null})");
  EXPECT_EQ(RecognizeChatStyle(directory_.path())->format, "plain");
}

TEST_F(ChatTemplateTest, ChatMlMayHaveASystemMessageOfItsOwn) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ChatStyle style, StyleOf(kChatMl));
  EXPECT_EQ(style.format, "chatml");
  EXPECT_EQ(style.default_system, "You are kind.");
  EXPECT_EQ(style.begin, "");  // the template writes no bos_token
  const std::string with_line_ends =
      Replaced(Replaced(kChatMl, "system\\nYou", "system\nYou"), "assistant\\n", "assistant\n");
  EXPECT_EQ(StyleOf(with_line_ends)->default_system, "You are kind.");
  // Of what a client gives nothing is taken for a default.
  const std::string without =
      Replaced(kChatMl, "system\\nYou are kind.<", "system\\n' + messages[0]['content'] + '<");
  EXPECT_EQ(StyleOf(without)->default_system, "");
}

TEST_F(ChatTemplateTest, Llama31HasADateThatMayBeTodays) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ChatStyle style, StyleOf(kLlama31));
  EXPECT_EQ(style.format, "llama3.1");
  EXPECT_EQ(style.date, "26 Jul 2024");
  EXPECT_EQ(style.begin, "<s>");
  EXPECT_EQ(StyleOf(Replaced(kLlama31, "{%- set date_string",
                             "{%- set date_string = strftime_now(\"%d %b %Y\") %}"
                             "{%- set date_string"))
                ->date,
            "");
  const std::string llama3 =
      Replaced(kLlama31, "{{- \"Cutting Knowledge Date: December 2023\\n\" }}", "");
  EXPECT_EQ(StyleOf(llama3)->format, "llama3");
}

TEST_F(ChatTemplateTest, RecognizesTheOtherFamilies) {
  const std::string qwen3 = std::string(kChatMl) + "{{ reasoning_content }}{{ last_query_index }}";
  EXPECT_EQ(StyleOf(qwen3)->format, "qwen3");
  EXPECT_EQ(StyleOf(qwen3)->default_system, "");
  const std::string gemma =
      "{{ bos_token }}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + "
      "'<end_of_turn>\n' }}{{'<start_of_turn>model\n'}}";
  EXPECT_EQ(StyleOf(gemma + "{{ raise_exception('System role not supported') }}")->format,
            "gemma2");
  EXPECT_EQ(StyleOf(gemma + "{%- set first_user_prefix = '' -%}")->format, "gemma3");
  EXPECT_EQ(StyleOf(kMistral3)->format, "mistral-v3");
  EXPECT_EQ(StyleOf("{{- ' [INST] ' + message['content'] + ' [/INST]' }}")->format, "mistral-v1");
}

TEST_F(ChatTemplateTest, ListsOfTemplatesHaveADefault) {
  const json tools = {{"name", "tool_use"}, {"template", "{{ tools }}"}};
  EXPECT_EQ(StyleOf(json::array({tools, {{"name", "default"}, {"template", kChatMl}}}))->format,
            "chatml");
  EXPECT_THAT(StyleOf(json::array({tools})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("chat_template")));
}

TEST_F(ChatTemplateTest, AFileOfItsOwnCounts) {
  Write("{{ unknown }}");
  directory_.Write("chat_template.jinja", kMistral3);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ChatStyle style, RecognizeChatStyle(directory_.path()));
  EXPECT_EQ(style.format, "mistral-v3");
  EXPECT_EQ(style.begin, "<s>");
}

TEST_F(ChatTemplateTest, UnknownTemplatesAreRefusedWithTheirFileAndTheMend) {
  const std::string chat_ml = kChatMl;
  for (const std::string& unknown :
       {std::string("{{ messages }}"), std::string("<|user|>"),
        Replaced(chat_ml, "assistant\\n'", "assistant\\n<think>\\n'"),
        Replaced(chat_ml, "message['content']", "message['content'] | trim"),
        Replaced(kLlama31, "December 2023", "June 2026"),
        std::string("{{ '[INST] <<SYS>>' + ' [INST] ' + message }}"),
        Replaced(kMistral3, "[/INST]\"", "[/INST]\" + \"[SYSTEM_PROMPT]\"")}) {
    EXPECT_THAT(StyleOf(unknown),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("tokenizer_config.json"), HasSubstr("chat_format"))))
        << unknown;
  }
  // Whoever names a format needs no template that is known.
  EXPECT_EQ(NamedChatStyle(directory_.path(), "chatml")->format, "chatml");
  EXPECT_EQ(NamedChatStyle(directory_.path(), "chatml")->begin, "<s>");
}

}  // namespace chat_template_test
}  // namespace submix::chat
