#include "submix/tokenizer/recent_words.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace submix::tokenizer {
namespace recent_words_test {

using ::testing::ElementsAre;

TEST(RecentWordsTest, RepeatsTheTokensOfAWord) {
  RecentWords recent(1000);
  std::vector<base::TokenId> tokens = {7};
  EXPECT_FALSE(recent.AppendTokens("ab", tokens));
  tokens.push_back(1);
  tokens.push_back(2);
  recent.Remember("ab", 1, tokens);
  EXPECT_FALSE(recent.AppendTokens("a", tokens));
  EXPECT_FALSE(recent.AppendTokens("abc", tokens));
  EXPECT_TRUE(recent.AppendTokens("ab", tokens));
  EXPECT_THAT(tokens, ElementsAre(7, 1, 2, 1, 2));
}

TEST(RecentWordsTest, NeverGivesAnotherWordsTokens) {
  RecentWords recent(8);  // one slot: every word meets every other
  std::vector<base::TokenId> tokens;
  for (base::TokenId id = 0; id < 100; ++id) {
    const std::string word = "word" + std::to_string(id);
    EXPECT_FALSE(recent.AppendTokens(word, tokens));
    tokens.push_back(id);
    recent.Remember(word, tokens.size() - 1, tokens);
    EXPECT_TRUE(recent.AppendTokens(word, tokens));
    EXPECT_EQ(tokens.back(), id);
  }
  const std::string long_word(300, 'x');
  recent.Remember(long_word, 0, tokens);
  EXPECT_FALSE(recent.AppendTokens(long_word, tokens));
}

}  // namespace recent_words_test
}  // namespace submix::tokenizer
