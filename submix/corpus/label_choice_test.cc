#include "submix/corpus/label_choice.h"

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::corpus {
namespace label_choice_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

// A token a character; of all that is not ASCII the same one.
class AsciiTokenizer final : public tokenizer::Tokenizer {
 public:
  int vocab_size() const override { return 130; }
  std::size_t longest_token_bytes() const override { return 1; }
  base::TokenId end_of_text() const override { return 129; }
  base::StatusOr<std::vector<base::TokenId>> Encode(std::string_view bytes) const override {
    std::vector<base::TokenId> tokens;
    for (const char byte : bytes) tokens.push_back(byte >= 0 ? byte : 128);
    return tokens;
  }
  std::string Decode(std::span<const base::TokenId> tokens) const override {
    std::string text;
    for (const base::TokenId token : tokens) {
      text += token < 128 ? std::string(1, static_cast<char>(token)) : "\xEF\xBF\xBD";
    }
    return text;
  }
};

class LabelChoiceTest : public ::testing::Test {
 protected:
  LabelChoiceTest() {
    auto loaded = tokenizer::Tokenizer::Load(SUBMIX_TESTDATA_DIR "/tokenizer/families/smollm2");
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    tokenizer_ = *std::move(loaded);
  }

  RecordEncoder Encoder() const { return {*tokenizer_, directory_.path(), Loss::kAnswers}; }
  void HasTemplate() {
    directory_.Write("chat_template.jinja",
                     "{% for m in messages %}{{ m.role }}<|im_end|>{{ m.content }}<|endoftext|>"
                     "{% endfor %}");
  }
  std::string Text(const std::vector<base::TokenId>& tokens) const {
    std::string text;
    for (const base::TokenId token : tokens) {
      const std::string bytes = tokenizer_->TokenBytes(token);
      text += bytes.empty() ? "!" : bytes;
    }
    return text;
  }
  base::Status Refusal(const std::vector<std::string>& labels) const {
    return CheckLabels(labels, *tokenizer_);
  }

  base::TemporaryDirectory directory_;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
};

TEST_F(LabelChoiceTest, TextAndLabelAreARecordOfTraining) {
  const RecordEncoder encoder = Encoder();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const LabelChoice choice,
                              ChoiceOfLabels(encoder, "Fine film.\nIt is", {"good", "bad"}));
  EXPECT_EQ(Text(choice.prompt), "!Fine film.\nIt is");
  ASSERT_EQ(choice.next.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    UserRecord record{"u", i == 0 ? "Fine film.\nIt is good" : "Fine film.\nIt is bad"};
    SUBMIX_ASSERT_OK_AND_ASSIGN(const EncodedRecord encoded, encoder.Encode(record));
    EXPECT_EQ(IdOf(encoded.tokens[choice.prompt.size() - 1]), choice.next[i]);
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(const LabelChoice spaced,
                              ChoiceOfLabels(encoder, "It is\n", {"good", "bad"}));
  EXPECT_EQ(Text(spaced.prompt), "!It is\n") << "white space is there already";
}

TEST_F(LabelChoiceTest, WithATemplateTheLabelIsAnAnswer) {
  HasTemplate();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const LabelChoice choice,
                              ChoiceOfLabels(Encoder(), "Fine", {"good", "bad"}));
  EXPECT_EQ(Text(choice.prompt), "user!Fine!assistant!");
  EXPECT_NE(choice.next[0], choice.next[1]);
}

TEST_F(LabelChoiceTest, WhatAllLabelsBeginWithIsRead) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const LabelChoice choice,
                              ChoiceOfLabels(Encoder(), "A", {"class 1", "class 2", "class 3"}));
  EXPECT_EQ(Text(choice.prompt), "!A class ");
  EXPECT_EQ(choice.next.size(), 3u);
}

TEST_F(LabelChoiceTest, RefusesLabelsThatOneTokenDoesNotTellApart) {
  EXPECT_THAT(Refusal({"good"}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("two labels")));
  EXPECT_THAT(Refusal({"good", " "}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("empty")));
  EXPECT_THAT(Refusal({"good", "goodness"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"good\" begins \"goodness\"")));
  EXPECT_THAT(Refusal({"good", "good"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("begins")));
  SUBMIX_EXPECT_OK(Refusal({"good", "bad"}));
  EXPECT_THAT(CheckLabels({"good",
                           "b\xC3\xA4"
                           "d"},
                          AsciiTokenizer()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot spell the label \"b??d\"")));
  EXPECT_THAT(ChoiceOfLabels(Encoder(), "A", {"class 1", "class 2", "bad"}).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("same token")));
}

}  // namespace label_choice_test
}  // namespace submix::corpus
