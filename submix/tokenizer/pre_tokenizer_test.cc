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
  std::vector<std::string> words;
  WordScanner scanner(text);
  while (const auto word = scanner.Next()) words.emplace_back(*word);
  return words;
}

TEST(WordScannerTest, GivesNothingForNoText) { EXPECT_THAT(Words(""), IsEmpty()); }

TEST(WordScannerTest, CutsLettersNumbersAndOthersEachWithTheirSpace) {
  EXPECT_THAT(Words("Hello, world 42x!"), ElementsAre("Hello", ",", " world", " 42", "x", "!"));
}

TEST(WordScannerTest, CutsContractionsInLowerCaseOnly) {
  EXPECT_THAT(Words("I'll he'd 'tis I'M"),
              ElementsAre("I", "'ll", " he", "'d", " '", "tis", " I", "'", "M"));
}

TEST(WordScannerTest, LeavesTheLastSpaceOfARunToTheNextWord) {
  EXPECT_THAT(Words("a   b  \n"), ElementsAre("a", "  ", " b", "  \n"));
  EXPECT_THAT(Words("a\n\nb"), ElementsAre("a", "\n", "\n", "b"));
}

TEST(WordScannerTest, TakesUnicodeWhiteSpaceAsSpace) {
  EXPECT_THAT(Words("a\u00a0b\u3000\u0085 c"),
              ElementsAre("a", "\u00a0", "b", "\u3000\u0085", " c"));
}

TEST(WordScannerTest, TakesNoFormatCharacterAsSpace) {
  EXPECT_THAT(Words("a\u180eb\u200bc"), ElementsAre("a", "\u180e", "b", "\u200b", "c"));
}

TEST(WordScannerTest, TakesIllFormedBytesAsOtherCharacters) {
  EXPECT_THAT(Words("ab\xff!\xe2\x82 \xc3 d"), ElementsAre("ab", "\xff!\xe2\x82", " \xc3", " d"));
  EXPECT_THAT(Words("  \xff"), ElementsAre(" ", " \xff"));
}

TEST(WordScannerTest, LosesNoByteOfRandomText) {
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

TEST(WordScannerTest, TakesLinearTimeOnLongRuns) {
  constexpr std::size_t kSize = 4 << 20;
  EXPECT_THAT(Words(std::string(kSize, 'a')), ElementsAre(std::string(kSize, 'a')));
  EXPECT_THAT(Words(std::string(kSize, '\n') + "x"),
              ElementsAre(std::string(kSize - 1, '\n'), "\n", "x"));
  EXPECT_THAT(Words(std::string(kSize, '\xff')), ElementsAre(std::string(kSize, '\xff')));
}

}  // namespace pre_tokenizer_test
}  // namespace submix::tokenizer
