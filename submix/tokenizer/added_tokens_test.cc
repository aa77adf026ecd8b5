#include "submix/tokenizer/added_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace submix::tokenizer {

// In the tokenizer's namespace for the matchers to find it.
bool operator==(const AddedTokens::Match& a, const AddedTokens::Match& b) {
  return a.begin == b.begin && a.end == b.end && a.id == b.id;
}

namespace added_tokens_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Match = AddedTokens::Match;

AddedToken Token(const std::string& content, base::TokenId id, const std::string& flags = "") {
  AddedToken token{content, id};
  token.is_special = flags.find('!') != std::string::npos;
  token.is_single_word = flags.find('w') != std::string::npos;
  token.strips_left = flags.find('l') != std::string::npos;
  token.strips_right = flags.find('r') != std::string::npos;
  return token;
}

std::vector<Match> Find(const AddedTokens& tokens, std::string_view text) {
  return tokens.FindAll({text, {}, {}});
}

TEST(AddedTokensTest, FindsFromTheLeftAndThereTheLongest) {
  const AddedTokens tokens({Token("\n", 1), Token("\n\n", 2), Token("\n\n\n\n", 4), Token("<b>", 5),
                            Token("\xe2\x96\x81", 6)});
  EXPECT_THAT(Find(tokens, "a\nb\n\n"), ElementsAre(Match{1, 2, 1}, Match{3, 5, 2}));
  EXPECT_THAT(Find(tokens, "\n\n\nx"), ElementsAre(Match{0, 2, 2}, Match{2, 3, 1}));
  EXPECT_THAT(Find(tokens, "\n\n\n\n\n"), ElementsAre(Match{0, 4, 4}, Match{4, 5, 1}));
  EXPECT_THAT(Find(tokens, "<b<b>"), ElementsAre(Match{2, 5, 5}));
  EXPECT_THAT(Find(tokens, "\xe2\x96\xe2\x96\x81"), ElementsAre(Match{2, 5, 6}));
  EXPECT_THAT(Find(tokens, "<b<b \xe2\x96"), IsEmpty());
  EXPECT_THAT(Find(tokens, ""), IsEmpty());
  EXPECT_THAT(Find(AddedTokens(), "a\n"), IsEmpty());
}

TEST(AddedTokensTest, ASingleWordHasNoLetterBesideIt) {
  const AddedTokens tokens({Token("cat", 1, "w"), Token("at", 2)});
  EXPECT_THAT(Find(tokens, "cat"), ElementsAre(Match{0, 3, 1}));
  EXPECT_THAT(Find(tokens, "a cat, cat's"), ElementsAre(Match{2, 5, 1}, Match{7, 10, 1}));
  // What is passed over is passed over whole: no "at" in it.
  for (const char* text :
       {"cats", "xcat", "_cat", "cat9", "écat", "caté", "cat\u0301", "ⓐcat", "cat\u200d", "cat٣"}) {
    EXPECT_THAT(Find(tokens, text), IsEmpty()) << text;
  }
  for (const char* text : {"cat²", "cat\xff", "cat\u2014", "cat\u00a0"}) {
    EXPECT_THAT(Find(tokens, text), ElementsAre(Match{0, 3, 1})) << text;
  }
  EXPECT_THAT(Find(tokens,
                   "\xe9"
                   "cat"),
              ElementsAre(Match{1, 4, 1}));  // no letter, but a byte
}

TEST(AddedTokensTest, TakesWhiteSpaceBesideIt) {
  const AddedTokens tokens({Token("<l>", 1, "l"), Token("<r>", 2, "r"), Token("<b>", 3, "lr")});
  EXPECT_THAT(Find(tokens, "a \n<l> b"), ElementsAre(Match{1, 6, 1}));
  EXPECT_THAT(Find(tokens, "a <r>\u2003\t b"), ElementsAre(Match{2, 10, 2}));
  EXPECT_THAT(Find(tokens, " <b> <b> "), ElementsAre(Match{0, 5, 3}, Match{5, 9, 3}));
  EXPECT_THAT(Find(tokens, "<r>  <l>"), ElementsAre(Match{0, 5, 2}, Match{5, 8, 1}));
  EXPECT_THAT(Find(tokens, "\u200b<l>"), ElementsAre(Match{3, 6, 1}));  // of no width, no space
}

TEST(AddedTokensTest, SearchesOnInTheWhiteSpaceThatAMatchTook) {
  const AddedTokens tokens({Token("<r>", 1, "r"), Token("  ", 2)});
  EXPECT_THAT(Find(tokens, "<r>   x"), ElementsAre(Match{0, 6, 1}, Match{3, 5, 2}));
}

TEST(AddedTokensTest, DropsWhatTheMatchBeforeTookAsWhiteSpace) {
  const AddedTokens tokens({Token("<r>", 1, "r"), Token(" ", 2, "l"), Token(" b", 3, "l")});
  EXPECT_THAT(Find(tokens, "<r> x"), ElementsAre(Match{0, 4, 1}));
  EXPECT_THAT(Find(tokens, "<r>   x"), ElementsAre(Match{0, 6, 1}));
  EXPECT_THAT(Find(tokens, "<r>  bx"), ElementsAre(Match{0, 5, 1}, Match{5, 6, 3}));
}

TEST(AddedTokensTest, LooksOnceAtEveryByteOfWhiteSpace) {
  const std::string spaces(1 << 20, ' ');
  for (const char* flags : {"l", "r"}) {
    EXPECT_EQ(Find(AddedTokens({Token(" ", 1, flags)}), spaces).size(), spaces.size());
  }
}

TEST(AddedTokensTest, AMarkerIsOfTheTemplateOnly) {
  const AddedTokens tokens(
      {Token("<end>", 1, "!"), Token("<end", 2), Token("<t>", 3), Token("nd>", 4, "!")});
  const auto find = [&](std::string_view text, std::string_view flags,
                        std::vector<base::TokenId> more = {}) {
    std::vector<bool> is_of_template;
    for (const char flag : flags) is_of_template.push_back(flag == 't');
    return tokens.FindAll({text, is_of_template, more});
  };
  EXPECT_THAT(find("<end>", "ttttt"), ElementsAre(Match{0, 5, 1}));
  EXPECT_THAT(find("<end>", "mmmmm"), ElementsAre(Match{0, 4, 2}));
  EXPECT_THAT(find("<end>", ""), ElementsAre(Match{0, 4, 2}));
  EXPECT_THAT(find("<end>", "tttt-"), ElementsAre(Match{0, 4, 2}));
  EXPECT_THAT(find("x<end>", "mttttt"), ElementsAre(Match{1, 6, 1}));
  // A person's beginning does not hide what the template wrote.
  EXPECT_THAT(find("<t>", "ttt", {3}), ElementsAre(Match{0, 3, 3}));
  EXPECT_THAT(find("<t>", "ttm", {3}), IsEmpty());
  EXPECT_THAT(find("<t>", "mmm"), ElementsAre(Match{0, 3, 3}));
  EXPECT_THAT(find("<<end>", "mttttt"), ElementsAre(Match{1, 6, 1}));
}

}  // namespace added_tokens_test
}  // namespace submix::tokenizer
