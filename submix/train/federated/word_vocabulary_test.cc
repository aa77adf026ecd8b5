#include "submix/train/federated/word_vocabulary.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::train {
namespace word_vocabulary_test {

using base::StatusCode;
using base::StatusIs;
using base::TokenId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  SplitIntoWords(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

TEST(SplitIntoWordsTest, LowersCaseAndDropsPunctuation) {
  EXPECT_THAT(WordsOf("Hello, World!  2nd\tline\n"), ElementsAre("hello", "world", "2nd", "line"));
  EXPECT_THAT(WordsOf(" ,.\n"), ElementsAre());
}

TEST(SplitIntoWordsTest, KeepsApostrophesInsideWordsOnly) {
  EXPECT_THAT(WordsOf("'Tis don't dogs' rock''n"),
              ElementsAre("tis", "don't", "dogs", "rock", "n"));
  EXPECT_THAT(WordsOf("don\u2019t"), ElementsAre("don't"));
}

TEST(SplitIntoWordsTest, TakesOtherScriptsAsLettersAndTheirPunctuationAsSpace) {
  EXPECT_THAT(WordsOf("Caf\u00E9\u00A0\u201Cna\u00EFve\u201D\u2014yes"),
              ElementsAre("caf\u00E9", "na\u00EFve", "yes"));
  EXPECT_THAT(WordsOf("cut \xE2\x80"), ElementsAre("cut"));
}

class WordVocabularyTest : public ::testing::Test {
 protected:
  base::TemporaryDirectory directory_;
};

TEST_F(WordVocabularyTest, HoldsTheMostFrequentWordsOfAllFilesTiesInByteOrder) {
  const std::vector<std::string> paths = {
      directory_.Write("a.txt", "the cat the dog\n<|endoftext|>\na zebra\n"),
      directory_.Write("b.txt", "The dog a cat the\n")};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto vocabulary, WordVocabulary::FromPublicText(paths, 4));
  EXPECT_EQ(vocabulary.num_words(), 4);
  EXPECT_EQ(vocabulary.size(), 7);
  TokenId id = WordVocabulary::kMarks;
  for (const char* word : {"the", "a", "cat", "dog"}) EXPECT_EQ(vocabulary.IdOf(word), id++);
  EXPECT_EQ(vocabulary.IdOf("zebra"), WordVocabulary::kUnknown);
}

TEST_F(WordVocabularyTest, TextsEndWithTheirMark) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto vocabulary, WordVocabulary::FromWords({"the", "cat"}));
  std::vector<TokenId> tokens;
  vocabulary.AppendText("The cat, the bat.", tokens);
  vocabulary.AppendText("", tokens);
  vocabulary.AppendText(" \n", tokens);
  EXPECT_THAT(tokens, ElementsAre(3, 4, 3, WordVocabulary::kUnknown, WordVocabulary::kEnd));
}

TEST_F(WordVocabularyTest, IsTheSameAfterSavingAndLoading) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto vocabulary,
                              WordVocabulary::FromWords({"b", "don't", "a"}));
  SUBMIX_ASSERT_OK(vocabulary.Save(directory_.File("words.txt")));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto loaded,
                              WordVocabulary::Load(directory_.File("words.txt")));
  EXPECT_EQ(loaded.num_words(), 3);
  EXPECT_EQ(loaded.IdOf("b"), 3);
  EXPECT_EQ(loaded.IdOf("a"), 5);
}

TEST_F(WordVocabularyTest, RefusesTooFewWordsAndBrokenLists) {
  const std::vector<std::string> paths = {directory_.Write("a.txt", "one two\n")};
  EXPECT_THAT(WordVocabulary::FromPublicText(paths, 3),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2 different words")));
  EXPECT_THAT(WordVocabulary::FromPublicText(paths, 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("1 or more")));
  EXPECT_THAT(WordVocabulary::Load(directory_.Write("twice.txt", "a\nb\na\n")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("every word once")));
  EXPECT_THAT(WordVocabulary::Load(directory_.Write("empty.txt", "a\n\nb\n")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("empty words")));
  EXPECT_THAT(WordVocabulary::Load(directory_.File("none")),
              StatusIs(StatusCode::kNotFound, HasSubstr("none")));
}

}  // namespace word_vocabulary_test
}  // namespace submix::train
