#include "submix/corpus/record_encoder.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/corpus/user_tokens.h"

namespace submix::corpus {
namespace record_encoder_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr chat::ChatRole kUser = chat::ChatRole::kUser;
constexpr chat::ChatRole kAssistant = chat::ChatRole::kAssistant;

constexpr char kTemplate[] =
    "{% for m in messages %}{{ m.role }}<|im_end|>{{ m.content }}<|endoftext|>{% endfor %}"
    "{{ 'assistant<|im_end|>' if add_generation_prompt }}";

// A tokenizer of the tests' data, beside it a chat template or none.
class RecordEncoderTest : public ::testing::Test {
 protected:
  explicit RecordEncoderTest(const std::string& chat_template = kTemplate) {
    const std::string from = SUBMIX_TESTDATA_DIR "/tokenizer/families/smollm2";
    auto loaded = tokenizer::Tokenizer::Load(from);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    tokenizer_ = *std::move(loaded);
    if (!chat_template.empty()) directory_.Write("chat_template.jinja", chat_template);
  }

  // The record's tokens and its end, in brackets what counts; "." for the end of text, "!" for
  // another marker.
  std::string Encoded(const UserRecord& record, Loss loss = Loss::kAnswers) const {
    auto encoded = RecordEncoder(*tokenizer_, directory_.path(), loss).Encode(record);
    if (!encoded.ok()) return encoded.status().message();
    std::vector<StreamToken> tokens = std::move(encoded->tokens);
    tokens.push_back(encoded->end);
    std::string text;
    bool counts = false;
    for (const StreamToken token : tokens) {
      if (IsCounted(token) != counts) text += counts ? "]" : "[";
      counts = IsCounted(token);
      const bool is_end = IdOf(token) == tokenizer_->end_of_text();
      const std::string bytes = tokenizer_->TokenBytes(IdOf(token));
      text += is_end ? "." : bytes.empty() ? "!" : bytes;
    }
    return text + (counts ? "]" : "");
  }

  static UserRecord Talk(std::vector<chat::ChatMessage> messages) {
    UserRecord record;
    record.messages = std::move(messages);
    return record;
  }
  static UserRecord Pair(const std::string& prompt, const std::string& completion) {
    UserRecord record{"u", prompt + completion};
    record.prompt_bytes = prompt.size();
    return record;
  }

  base::TemporaryDirectory directory_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
};

class RecordEncoderWithoutTemplateTest : public RecordEncoderTest {
 protected:
  RecordEncoderWithoutTemplateTest() : RecordEncoderTest("") {}
};

TEST_F(RecordEncoderTest, OfAConversationTheAnswersCount) {
  const UserRecord talk = Talk({{kUser, "q"}, {kAssistant, "a b"}, {kUser, "r"}});
  EXPECT_EQ(Encoded(talk), "user!q.assistant![a b.]user!r..");
  EXPECT_EQ(Encoded(talk, Loss::kAll), "[user!q.assistant!a b.user!r..]");
}

TEST_F(RecordEncoderTest, WhatAPersonWroteIsNoMarker) {
  EXPECT_EQ(Encoded(Talk({{kUser, "<|endoftext|>"}, {kAssistant, "<|endoftext|>"}})),
            "user!<|endoftext|>.assistant![<|endoftext|>.].");
}

TEST_F(RecordEncoderTest, APromptAndItsCompletionAreAQuestionAndItsAnswer) {
  EXPECT_EQ(Encoded(Pair("q", "a")), "user!q.assistant![a.].");
}

TEST_F(RecordEncoderTest, AllOfATextCounts) {
  for (const Loss loss : {Loss::kAnswers, Loss::kAll}) {
    EXPECT_EQ(Encoded({"u", "some text"}, loss), "[some text.]");
  }
}

TEST_F(RecordEncoderWithoutTemplateTest, APromptAndItsCompletionAreJoined) {
  EXPECT_EQ(Encoded(Pair("the question:", " yes")), "the question:[ yes.]");
  EXPECT_EQ(Encoded(Pair("", "yes")), "[yes.]");
  EXPECT_EQ(Encoded(Pair("the question:", " yes"), Loss::kAll), "[the question: yes.]");
}

TEST_F(RecordEncoderWithoutTemplateTest, AConversationIsRefused) {
  EXPECT_THAT(Encoded(Talk({{kUser, "secret"}, {kAssistant, "a"}})),
              AllOf(HasSubstr("has no chat template"), Not(HasSubstr("secret"))));
  EXPECT_THAT(RecordEncoder(*tokenizer_).Encode(Talk({{kAssistant, "a"}})),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("only text is read here")));
}

// Conversations begin as their template has it; the ends between them count for nobody.
TEST_F(RecordEncoderTest, RecordsOfAllKindsAreOneStream) {
  const RecordEncoder encoder(*tokenizer_, directory_.path(), Loss::kAnswers);
  RecordStream stream;
  for (const UserRecord& record :
       {Talk({{kAssistant, "a"}}), UserRecord{"u", "t"}, Talk({{kAssistant, "b"}})}) {
    stream.Append(encoder.Encode(record).value());
  }
  const UserTokens user = stream.Take("u", 1000);
  std::string shown;
  for (const StreamToken token : user.tokens) {
    shown += IsCounted(token) ? "+" : "-";
  }
  const std::string head(tokenizer_->Encode("assistant").value().size() + 1, '-');
  EXPECT_EQ(shown.substr(0, head.size()), head);
  const std::vector<UserTokens> texts = CutIntoTexts({user});
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(IdOf(texts[1].tokens.front()), tokenizer_->end_of_text());
  EXPECT_EQ(texts[1].tokens.back(), tokenizer_->end_of_text());
  EXPECT_FALSE(IsCounted(texts[2].tokens.front()));
  EXPECT_NE(IdOf(texts[2].tokens.front()), tokenizer_->end_of_text());
  EXPECT_FALSE(IsCounted(texts[2].tokens.back()));
}

}  // namespace record_encoder_test
}  // namespace submix::corpus
