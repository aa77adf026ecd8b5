#include "submix/tokenizer/pre_tokenizer.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"

namespace submix::tokenizer {
namespace pre_tokenizer_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Words(std::string_view text) {
  const std::vector<std::string_view> words = Gpt2PreTokenizer().Cut(text).value();
  return {words.begin(), words.end()};
}

TEST(Gpt2PreTokenizerTest, GivesNothingForNoText) { EXPECT_THAT(Words(""), IsEmpty()); }

TEST(Gpt2PreTokenizerTest, CutsLettersNumbersAndOthersEachWithTheirSpace) {
  EXPECT_THAT(Words("Hello, world 42x!"), ElementsAre("Hello", ",", " world", " 42", "x", "!"));
}

TEST(Gpt2PreTokenizerTest, CutsContractionsInLowerCaseOnly) {
  EXPECT_THAT(Words("I'll he'd 'tis I'M"),
              ElementsAre("I", "'ll", " he", "'d", " '", "tis", " I", "'", "M"));
}

TEST(Gpt2PreTokenizerTest, LeavesTheLastSpaceOfARunToTheNextWord) {
  EXPECT_THAT(Words("a   b  \n"), ElementsAre("a", "  ", " b", "  \n"));
  EXPECT_THAT(Words("a\n\nb"), ElementsAre("a", "\n", "\n", "b"));
}

TEST(Gpt2PreTokenizerTest, TakesUnicodeWhiteSpaceAsSpace) {
  EXPECT_THAT(Words("a\u00a0b\u3000\u0085 c"),
              ElementsAre("a", "\u00a0", "b", "\u3000\u0085", " c"));
}

TEST(Gpt2PreTokenizerTest, TakesNoFormatCharacterAsSpace) {
  EXPECT_THAT(Words("a\u180eb\u200bc"), ElementsAre("a", "\u180e", "b", "\u200b", "c"));
}

TEST(Gpt2PreTokenizerTest, TakesIllFormedBytesAsOtherCharacters) {
  EXPECT_THAT(Words("ab\xff!\xe2\x82 \xc3 d"), ElementsAre("ab", "\xff!\xe2\x82", " \xc3", " d"));
  EXPECT_THAT(Words("  \xff"), ElementsAre(" ", " \xff"));
}

TEST(Gpt2PreTokenizerTest, LosesNoByteOfRandomText) {
  const auto random = base::MakeSeededRandomSource(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random->NextBelow(60), '\0');
    random->Fill(std::as_writable_bytes(std::span(text)));
    std::string joined;
    for (const std::string& word : Words(text)) {
      EXPECT_FALSE(word.empty());
      joined += word;
    }
    ASSERT_EQ(joined, text);
  }
}

TEST(Gpt2PreTokenizerTest, TakesLinearTimeOnLongRuns) {
  constexpr std::size_t kSize = 4 << 20;
  EXPECT_THAT(Words(std::string(kSize, 'a')), ElementsAre(std::string(kSize, 'a')));
  EXPECT_THAT(Words(std::string(kSize, '\n') + "x"),
              ElementsAre(std::string(kSize - 1, '\n'), "\n", "x"));
  EXPECT_THAT(Words(std::string(kSize, '\xff')), ElementsAre(std::string(kSize, '\xff')));
}

std::vector<std::string_view> Cut(std::string_view text, SplitBehavior behavior, bool invert) {
  base::StatusOr<RegularExpression> pattern = RegularExpression::Compile("[.]");
  EXPECT_TRUE(pattern.ok());
  return PreTokenizer({{*pattern, behavior, invert}}).Cut(text).value();
}

TEST(PreTokenizerTest, DoesWithMatchesWhatABehaviorSays) {
  const std::string_view text = "a..bc.";
  EXPECT_THAT(Cut(text, SplitBehavior::kIsolated, false), ElementsAre("a", ".", ".", "bc", "."));
  EXPECT_THAT(Cut(text, SplitBehavior::kRemoved, false), ElementsAre("a", "bc"));
  EXPECT_THAT(Cut(text, SplitBehavior::kMergedWithPrevious, false), ElementsAre("a.", ".", "bc."));
  EXPECT_THAT(Cut(text, SplitBehavior::kMergedWithNext, false), ElementsAre("a", ".", ".bc", "."));
  EXPECT_THAT(Cut(text, SplitBehavior::kContiguous, false), ElementsAre("a", "..", "bc", "."));
}

TEST(PreTokenizerTest, TurnsMatchesAndTheRestRound) {
  const std::string_view text = "a..bc.";
  EXPECT_THAT(Cut(text, SplitBehavior::kIsolated, true), ElementsAre("a", ".", ".", "bc", "."));
  EXPECT_THAT(Cut(text, SplitBehavior::kRemoved, true), ElementsAre(".", ".", "."));
  EXPECT_THAT(Cut(text, SplitBehavior::kMergedWithPrevious, true),
              ElementsAre("a", ".", ".bc", "."));
  EXPECT_THAT(Cut(text, SplitBehavior::kMergedWithNext, true), ElementsAre("a.", ".", "bc."));
}

TEST(PreTokenizerTest, CutsTheWordsOfOneSplitByTheNext) {
  const auto digit = RegularExpression::Compile(R"(\p{N})");
  ASSERT_TRUE(digit.ok());
  const PreTokenizer pre_tokenizer({{*digit, SplitBehavior::kIsolated, false}, Gpt2Split()});
  EXPECT_THAT(pre_tokenizer.Cut("in 12, a  b").value(),
              ElementsAre("in", " ", "1", "2", ",", " a", " ", " b"));
}

TEST(PreTokenizerTest, LooksNoFurtherAheadThanItsWord) {
  const auto comma = RegularExpression::Compile(",");
  ASSERT_TRUE(comma.ok());
  const PreTokenizer pre_tokenizer({{*comma, SplitBehavior::kIsolated, false}, Gpt2Split()});
  EXPECT_THAT(pre_tokenizer.Cut("a  ,b").value(), ElementsAre("a", "  ", ",", "b"));
}

TEST(PreTokenizerTest, WithoutSplitsATextIsOneWord) {
  EXPECT_THAT(PreTokenizer({}).Cut("a b\xff").value(), ElementsAre("a b\xff"));
  EXPECT_THAT(PreTokenizer({}).Cut("").value(), IsEmpty());
}

}  // namespace pre_tokenizer_test
}  // namespace submix::tokenizer
