#include "submix/workbench/synthesis/document_prompts.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::workbench {
namespace document_prompts_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class DocumentPromptsTest : public ::testing::Test {
 protected:
  base::StatusOr<std::vector<std::string>> TextsOf(const std::string& name,
                                                   const std::string& content) {
    SUBMIX_EXPECT_OK(base::WriteFile(directory_.File(name), content));
    SUBMIX_ASSIGN_OR_RETURN(const auto prompts, PromptsFromFile(directory_.File(name)));
    std::vector<std::string> texts;
    for (const DocumentPrompt& prompt : prompts) texts.push_back(prompt.text);
    return texts;
  }

  base::TemporaryDirectory directory_;
};

TEST_F(DocumentPromptsTest, EveryLineThatIsNotBlankIsAPrompt) {
  EXPECT_THAT(*TextsOf("prompts.txt", "The sea\n \t\n\n The hill\n"),
              ElementsAre("The sea", " The hill"));
  EXPECT_THAT(
      *TextsOf("prompts.jsonl", "{\"prompt\": \"a\\nb\"}\n\n{\"prompt\": \"\", \"n\": 1}\n"),
      ElementsAre("a\nb", ""));
}

TEST_F(DocumentPromptsTest, WhatIsNoPromptIsNamedByItsLine) {
  EXPECT_THAT(TextsOf("none.txt", "\n \n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("none.txt: no prompt")));
  EXPECT_THAT(TextsOf("latin.txt", "a\nb\xe4\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("latin.txt:2: not UTF-8")));
  EXPECT_THAT(TextsOf("other.jsonl", "{\"prompt\": \"a\"}\n{\"text\": \"b\"}\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("other.jsonl:2")));
}

TEST_F(DocumentPromptsTest, ItemsAreTextsInATemplate) {
  const std::vector<std::string> labels = {"good", "bad"};
  const auto items = [&](const std::string& name, const std::string& content,
                         const std::string& text_template) {
    SUBMIX_EXPECT_OK(base::WriteFile(directory_.File(name), content));
    return ItemsFromFile(directory_.File(name), text_template, labels);
  };
  const auto lines = items("items.txt", "a {text}\n\nb\n", "{text}, {text}: ");
  SUBMIX_ASSERT_OK(lines);
  EXPECT_EQ((*lines)[0].text, "a {text}, a {text}: ") << "what a text holds is no place";
  EXPECT_EQ((*lines)[1].text, "b, b: ");
  const auto objects = items("items.jsonl",
                             "{\"text\": \"a\", \"completion\": \" good\"}\n"
                             "{\"prompt\": \"b\", \"text\": \"c\"}\n",
                             "");
  SUBMIX_ASSERT_OK(objects);
  EXPECT_EQ((*objects)[0].text, "a");
  EXPECT_EQ((*objects)[0].label, "good");
  EXPECT_EQ((*objects)[1].text, "b");
  EXPECT_EQ((*objects)[1].label, "");
  EXPECT_THAT(items("a.jsonl", "{\"text\": \"a\", \"completion\": \"secret\"}\n", ""),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("a.jsonl:1: field \"completion\": is none of --labels"),
                             Not(HasSubstr("secret")))));
  EXPECT_THAT(items("a.txt", "a\n", "no place"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--prompt")));
}

TEST_F(DocumentPromptsTest, LabelsTakeTurnsUntilTheirDocumentsAreDone) {
  const auto prompts = PromptsFromLabels("A {label} review, {label}: ", {"good:3", "so:so:1"});
  SUBMIX_ASSERT_OK(prompts);
  std::vector<std::string> labels;
  for (const DocumentPrompt& prompt : *prompts) labels.push_back(prompt.label);
  EXPECT_THAT(labels, ElementsAre("good", "so:so", "good", "good"));
  EXPECT_EQ(prompts->front().text, "A good review, good: ");
  EXPECT_EQ(PromptsFromLabels("{label}", {"{label}:1"})->front().text, "{label}") << "no place";
}

TEST_F(DocumentPromptsTest, ATemplateWithoutAPlaceOrALabelWithoutANumberIsRefused) {
  EXPECT_THAT(PromptsFromLabels("A review: ", {"good:3"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--template")));
  EXPECT_THAT(PromptsFromLabels("{label}", {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--labels")));
  for (const char* label : {"good", "good:", "good:0", "good:-1", "good:1x", ":3", "good:10000001",
                            "good:99999999999"}) {
    EXPECT_THAT(PromptsFromLabels("{label}", {label}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("--labels")))
        << label;
  }
}

}  // namespace document_prompts_test
}  // namespace submix::workbench
