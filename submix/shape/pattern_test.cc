// What is matched, against the C library's regular expressions on random texts, and against tables
// where that library differs: UTF-8, classes by letters, counts without a beginning.
#include "submix/shape/pattern.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <regex.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/shape/automaton.h"

namespace submix::shape {
namespace pattern_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

base::StatusOr<Automaton> Compiled(std::string_view pattern, const PatternReading& reading = {}) {
  SUBMIX_ASSIGN_OR_RETURN(const Expression expression, ReadPattern(pattern, reading));
  return Automaton::Compile(expression);
}

bool Matches(const Automaton& automaton, std::string_view text) {
  int state = automaton.start();
  for (const char c : text) {
    state = automaton.Next(state, static_cast<unsigned char>(c));
    if (state == Automaton::kNone) return false;
  }
  return automaton.accepts(state);
}

bool Matches(std::string_view pattern, std::string_view text) {
  const auto automaton = Compiled(pattern);
  EXPECT_TRUE(automaton.ok()) << pattern << ": " << automaton.status();
  return automaton.ok() && Matches(*automaton, text);
}

// A random pattern over a few letters, of what both libraries read alike.
std::string RandomPattern(std::mt19937& random, int depth) {
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::vector<std::string> atoms = {"a",    "b",     "c",      ".",  "[ab]",
                                          "[^a]", "[0-9]", "[a-c1]", "\\."};
  const std::vector<std::string> repeats = {"",  "",    "",      "*",     "+",
                                            "?", "{2}", "{1,2}", "{0,3}", "{2,}"};
  std::string pattern;
  for (int i = 0; i <= draw(3); ++i) {
    if (depth > 0 && draw(3) == 0) {
      pattern +=
          "(" + RandomPattern(random, depth - 1) + "|" + RandomPattern(random, depth - 1) + ")";
    } else {
      pattern += atoms[static_cast<std::size_t>(draw(static_cast<int>(atoms.size())))];
    }
    pattern += repeats[static_cast<std::size_t>(draw(static_cast<int>(repeats.size())))];
  }
  return pattern;
}

TEST(Pattern, MatchesWhatTheCLibraryMatches) {
  std::mt19937 random(7);
  int compiled = 0;
  int matched = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string pattern = RandomPattern(random, 2);
    regex_t posix;
    ASSERT_EQ(regcomp(&posix, ("^(" + pattern + ")$").c_str(), REG_EXTENDED | REG_NOSUB), 0);
    const auto ours = Compiled(pattern);
    if (!ours.ok()) {
      EXPECT_THAT(ours, StatusIs(StatusCode::kInvalidArgument, HasSubstr("too large"))) << pattern;
      regfree(&posix);
      continue;
    }
    ++compiled;
    for (int t = 0; t < 60; ++t) {
      std::string text;
      for (auto n = random() % 7; n > 0; --n) text += "abc1. "[random() % 6];
      const bool expected = regexec(&posix, text.c_str(), 0, nullptr, 0) == 0;
      EXPECT_EQ(Matches(*ours, text), expected) << pattern << " on '" << text << "'";
      matched += expected ? 1 : 0;
    }
    regfree(&posix);
  }
  EXPECT_GT(compiled, 290);
  EXPECT_GT(matched, 1000);
}

TEST(Pattern, ReadsCharactersOfUtf8) {
  EXPECT_TRUE(Matches("...", "aß€"));
  EXPECT_TRUE(Matches("[à-ü]+", "éèü"));
  EXPECT_FALSE(Matches("[à-ü]+", "e"));
  EXPECT_TRUE(Matches("[^a]", "😀"));
  EXPECT_FALSE(Matches(".", "\n"));
  EXPECT_TRUE(Matches("\\u20ac\\x41", "€A"));
  for (const auto* bytes :
       {"\xC3", "\x80", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_FALSE(Matches(".", bytes)) << "what is no UTF-8 is no character";
  }
  // All characters of some ranges that cross lengths, and none beside them.
  const auto automaton = Compiled("[\\u0050-\\uffff]");
  ASSERT_TRUE(automaton.ok());
  for (char32_t c = 1; c <= 0xFFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    if (c < 0x80) {
      text = {static_cast<char>(c)};
    } else if (c < 0x800) {
      text = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
    } else {
      text = {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
              static_cast<char>(0x80 | (c & 63))};
    }
    ASSERT_EQ(Matches(*automaton, text), c >= 0x50) << static_cast<unsigned>(c);
  }
}

TEST(Pattern, ReadsWhatPythonReads) {
  EXPECT_TRUE(Matches("^yes|no$", "yes"));
  EXPECT_TRUE(Matches("^yes|no$", "no"));
  EXPECT_FALSE(Matches("^yes|no$", "yes!"));
  EXPECT_TRUE(Matches("a{,2}b", "aab"));
  EXPECT_FALSE(Matches("a{,2}b", "aaab"));
  EXPECT_TRUE(Matches("a{x}{", "a{x}{"));  // braces that count nothing
  EXPECT_TRUE(Matches("[]a]+[^]]", "]a]b"));
  EXPECT_TRUE(Matches("[a-]+", "a-a"));
  EXPECT_TRUE(Matches("a+?b*?", "aab"));
  EXPECT_TRUE(Matches("\\[\\d{2}\\]", "[42]"));
  EXPECT_TRUE(Matches("[\\s\\d]+", " 4\t"));
  EXPECT_TRUE(Matches("\\{\"a\":-\\}", "{\"a\":-}"));
  EXPECT_TRUE(Matches("(|a)b", "b"));
}

TEST(Pattern, MayStandAnywhereWhereThatIsAsked) {
  const auto automaton = Compiled("^ab|c$|d", {.anywhere = true});
  ASSERT_TRUE(automaton.ok());
  for (const auto* text : {"ab", "abx", "c", "xc", "d", "xdx"}) {
    EXPECT_TRUE(Matches(*automaton, text)) << text;
  }
  for (const auto* text : {"xab", "cx", "", "x"}) EXPECT_FALSE(Matches(*automaton, text)) << text;
}

TEST(Pattern, RefusesByNameWhatItDoesNotRead) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"(?=a)", "(?:"},
      {"(?P<n>a)", "(?:"},
      {"(?i)a", "(?:"},
      {"(a)\\1", "\\1"},
      {"\\ba", "\\b"},
      {"\\p{L}", "\\p"},
      {"a*+", "possessive"},
      {"a**", "repetition of a repetition"},
      {"a{2}{3}", "repetition of a repetition"},
      {"*a", "nothing stands before"},
      {"(a", "( without"},
      {"a)", ") without"},
      {"[a", "[ without"},
      {"[b-a]", "in order"},
      {"[\\d-z]", "in order"},
      {"a{3,2}", "below its beginning"},
      {"a{999999999999999}", "a count above"},
      {"x^", "^ and $"},
      {"(^a)", "^ and $"},
      {"a\\", "without what it escapes"},
      {"\\xg0", "hexadecimal"},
      {"\\ud800", "surrogate"},
      {"\xFF", "UTF-8"},
      {std::string(100, '(') + std::string(100, ')'), "groups within each other"},
      {std::string(5000, 'a'), "at most 4096"},
  };
  for (const auto& [pattern, why] : refused) {
    EXPECT_THAT(ReadPattern(pattern), StatusIs(StatusCode::kInvalidArgument, HasSubstr(why)))
        << pattern.substr(0, 40);
  }
}

TEST(Pattern, IsReadInBoundedTimeWhateverItSays) {
  for (const std::string pattern :
       {"(a|b)*a(a|b){60}", "((a{1000}){1000}){1000}", "(.{9,999}x){9,999}", "(a?){3000}a{3000}",
        "((((a*)*)*)*)*b", "(a|a|a|a)*(a|aa)*[^a]{50}"}) {
    const auto compiled = Compiled(pattern);
    EXPECT_TRUE(compiled.ok() || compiled.status().code() == StatusCode::kInvalidArgument);
  }
}

}  // namespace pattern_test
}  // namespace submix::shape
