#include "submix/tokenizer/regular_expression.h"

#include <vector>

#include "submix/base/testing/status_matchers.h"

namespace submix::tokenizer {
namespace regular_expression_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Matches(std::string_view pattern, std::string_view text) {
  const auto expression = RegularExpression::Compile(pattern);
  EXPECT_TRUE(expression.ok()) << pattern << ": " << expression.status();
  std::vector<std::string> matches;
  if (!expression.ok()) return matches;
  for (auto match = expression->Find(text, 0); match; match = expression->Find(text, match->end)) {
    matches.emplace_back(text.substr(match->begin, match->end - match->begin));
  }
  return matches;
}

TEST(RegularExpressionTest, SpacesAreUnicodesWhiteSpace) {
  // PCRE2's own \s has U+180E, too, and no U+0085 or U+00A0 without further options.
  const std::string text = "a\u0085\u00a0b\u180ec\u200bd\u3000e\v";
  EXPECT_THAT(Matches(R"(\s+)", text), ElementsAre("\u0085\u00a0", "\u3000", "\v"));
  EXPECT_THAT(Matches(R"([\s]+)", text), ElementsAre("\u0085\u00a0", "\u3000", "\v"));
  EXPECT_THAT(Matches(R"(\S+)", text), ElementsAre("a", "b\u180ec\u200bd", "e"));
  EXPECT_THAT(Matches(R"([^\sa-d]+)", "a e\u0085f"), ElementsAre("e", "f"));
}

TEST(RegularExpressionTest, ClassesAreUnicodes) {
  EXPECT_THAT(Matches(R"(\p{L}+)", "a\u00e9 \u4f60\u597d 1"),
              ElementsAre("a\u00e9", "\u4f60\u597d"));
  EXPECT_THAT(Matches(R"(\d)", "1\u0663\u00bd"), ElementsAre("1", "\u0663"));
  EXPECT_THAT(Matches(R"(\p{N}{1,3})", "1234567"), ElementsAre("123", "456", "7"));
  EXPECT_THAT(Matches(R"([\p{Lu}\p{Lt}]+)", "ABc"), ElementsAre("AB"));
}

// A danda belongs to no script, but its extensions are many; Oniguruma asks for the script.
TEST(RegularExpressionTest, ScriptsAreWithoutTheirExtensions) {
  EXPECT_THAT(Matches(R"(\p{Devanagari}+)", "\u0915\u0964"), ElementsAre("\u0915"));
  EXPECT_THAT(Matches(R"([\p{Han}]+)", "\u4f60\u3001"), ElementsAre("\u4f60"));
}

TEST(RegularExpressionTest, CasesFoldAsUnicodeSays) {
  EXPECT_THAT(Matches("(?i:'s|'ll)", "'s 'S 'LL '\u017f"),
              ElementsAre("'s", "'S", "'LL", "'\u017f"));
  EXPECT_THAT(Matches("(?i:a)b", "ab Ab aB"), ElementsAre("ab", "Ab"));
}

TEST(RegularExpressionTest, LiteralsAreBytes) {
  const RegularExpression literal = RegularExpression::Literal("a.*");
  EXPECT_FALSE(literal.Find("abc", 0).has_value());
  EXPECT_EQ(literal.Find("xa.*", 0)->begin, 1u);
}

TEST(RegularExpressionTest, TheFamiliesPatternsAreKnown) {
  for (
      const char* pattern :
      {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
       R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"}) {
    SUBMIX_EXPECT_OK(RegularExpression::Compile(pattern));
  }
}

TEST(RegularExpressionTest, WhatTheTwoReadDifferentlyIsRefused) {
  for (const char* pattern :
       {"a.b",        "^a",        "a$",        R"(\w)",          R"(\b)",
        R"(\h)",      R"(\v)",     R"(\x41)",   R"(\1)",          "[[:alpha:]]",
        "[a[b]]",     "[a&&b]",    "[]a]",      R"([\S])",        "(?<=a)b",
        "(?<name>a)", "(?s:a)",    "(*LIMIT)a", "a{,3}",          "a{2}+",
        "a{x}",       R"(\p{^L})", R"(\pL)",    R"((?i:\p{Lu}))", R"(a\)"}) {
    EXPECT_THAT(RegularExpression::Compile(pattern),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("not supported")))
        << pattern;
  }
}

// Time that is exponential in the text.
TEST(RegularExpressionTest, GroupsAreNotRepeated) {
  for (const char* pattern : {"(a+)+b", "(?:a|a)*b", "(?:a*){2,}b"}) {
    EXPECT_THAT(RegularExpression::Compile(pattern),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("repeated")))
        << pattern;
  }
}

TEST(RegularExpressionTest, WhatDoesNotCompileOrMatchesNothingIsRefused) {
  for (const char* pattern : {"+a", "[b-a]", R"(\p{Nonsense})", "a**"}) {
    EXPECT_THAT(RegularExpression::Compile(pattern),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("")))
        << pattern;
  }
  for (const char* pattern : {"(a", "a)", "[a"}) {
    EXPECT_THAT(RegularExpression::Compile(pattern),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("")))
        << pattern;
  }
  for (const char* pattern : {"", "a*", "a|", "(?=a)"}) {
    EXPECT_THAT(RegularExpression::Compile(pattern),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("empty string")))
        << pattern;
  }
}

}  // namespace regular_expression_test
}  // namespace submix::tokenizer
