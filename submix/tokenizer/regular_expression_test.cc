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
  RegularExpression::Effort effort(text.size());
  auto match = expression->Find(text, 0, effort).value();
  for (; match; match = expression->Find(text, match->end, effort).value()) {
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
  RegularExpression::Effort effort(4);
  EXPECT_FALSE(literal.Find("abc", 0, effort).value().has_value());
  EXPECT_EQ(literal.Find("xa.*", 0, effort).value()->begin, 1u);
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

// Which would take hours, or for ever.
TEST(RegularExpressionTest, WhatAHostilePatternMayCostIsBoundedAndThenAnError) {
  const std::string text(4'000, 'b');
  for (const char* pattern : {R"(\p{L}*\p{L}*\p{L}*\p{N}|a)", R"(\p{L}*\p{L}*\p{N}|\p{L})",
                              R"(\p{L}{0,900}\p{L}{0,900}\p{L}{0,900}\p{N}|\p{L})",
                              R"((?!\p{L}{0,900}\p{L}{0,900}\p{N})\p{L})"}) {
    RegularExpression::Effort effort(text.size());
    const auto expression = RegularExpression::Compile(pattern).value();
    auto match = expression.Find(text, 0, effort);
    while (match.ok() && *match) match = expression.Find(text, (*match)->end, effort);
    EXPECT_THAT(match, StatusIs(StatusCode::kInvalidArgument, HasSubstr("budget"))) << pattern;
  }
}

TEST(RegularExpressionTest, TheFamiliesPatternsTakeNextToNoEffort) {
  // Long runs of what the first alternatives try in vain.
  for (const std::string& text : {std::string(50'000, ' '), std::string(50'000, 'A')}) {
    for (
        const char* pattern :
        {R"((?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
         R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[\p{Lu}]+|\s*[\r\n]+|\s+(?!\S)|\s+)"}) {
      EXPECT_THAT(Matches(pattern, text), ElementsAre(text)) << pattern;
    }
  }
}

TEST(RegularExpressionTest, ALookAheadHasABound) {
  for (const char* pattern : {R"((?=\p{L}*\p{L}*\p{N})a|a)", R"((?!\p{L}+\p{N})\p{L})",
                              R"(a(?=b{2,}))", R"(a(?!(?:b|c+)d))"}) {
    EXPECT_THAT(RegularExpression::Compile(pattern),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("look-ahead")))
        << pattern;
  }
  EXPECT_THAT(Matches(R"(a+(?!b{1,3}c)b*)", "aabbb"), ElementsAre("aabbb"));
}

}  // namespace regular_expression_test
}  // namespace submix::tokenizer
