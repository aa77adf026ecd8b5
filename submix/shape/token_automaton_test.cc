#include "submix/shape/token_automaton.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "submix/base/testing/status_matchers.h"
#include "submix/shape/json_schema.h"
#include "submix/shape/pattern.h"

namespace submix::shape {
namespace token_automaton_test {

using base::StatusCode;
using base::StatusIs;
using base::TokenId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> WithAllBytes(std::vector<std::string> tokens) {
  for (int b = 0; b < 256; ++b) tokens.emplace_back(1, static_cast<char>(b));
  return tokens;
}

base::StatusOr<std::shared_ptr<const TokenAutomaton>> Over(const std::vector<std::string>& tokens,
                                                           const Expression& expression) {
  SUBMIX_ASSIGN_OR_RETURN(Automaton automaton, Automaton::Compile(expression));
  return TokenAutomaton::Create(std::move(automaton), std::make_shared<const Vocabulary>(tokens));
}

std::shared_ptr<const TokenAutomaton> OverPattern(const std::vector<std::string>& tokens,
                                                  std::string_view pattern) {
  const auto expression = ReadPattern(pattern);
  EXPECT_TRUE(expression.ok()) << expression.status();
  auto shape = Over(tokens, *expression);
  EXPECT_TRUE(shape.ok()) << shape.status();
  return *shape;
}

TEST(TokenAutomaton, AllowsTheTokensThatLeadOn) {
  const std::vector<std::string> tokens = {"yes", "no", "n", "nope", "", "o", "y", "es", "x", "no"};
  const auto shape = OverPattern(tokens, "yes|no|none");
  EXPECT_THAT(shape->Allowed(shape->start(), 9), ElementsAre(0, 1, 2, 6, 9));
  EXPECT_THAT(shape->Allowed(shape->start(), 1), ElementsAre(0, 1, 9)) << "the others need two";
  const int n = shape->Next(shape->start(), 1);
  EXPECT_TRUE(shape->MayEnd(n));
  EXPECT_FALSE(shape->IsComplete(n));
  EXPECT_THAT(shape->Allowed(n, 9), IsEmpty()) << "nothing spells the rest of none";
  EXPECT_TRUE(shape->IsComplete(shape->Next(shape->start(), 0)));
  EXPECT_EQ(shape->Next(shape->start(), 3), Automaton::kNone);
  EXPECT_EQ(shape->Next(shape->start(), 4), Automaton::kNone) << "a token without text";
  EXPECT_EQ(shape->Next(shape->start(), 77), Automaton::kNone);
}

TEST(TokenAutomaton, ForcesWhatOnlyOneTextCanFollow) {
  const auto tokens =
      WithAllBytes({"class", " A", " B", "cl", "ass", "class ", "{\"", "name", "\":\""});
  const auto choice = OverPattern(tokens, "class A|class B");
  EXPECT_THAT(choice->Allowed(choice->start(), 9), ElementsAre(0))
      << "not the space before a choice";
  const int behind = choice->Next(choice->start(), 0);
  const auto space = static_cast<TokenId>(9 + ' ');
  EXPECT_THAT(choice->Allowed(behind, 9), ElementsAre(1, 2, space));
  EXPECT_EQ(choice->TokensNeeded(choice->start()), 2);

  const auto json = Over(
      tokens, *ReadJsonSchema(R"({"properties":{"name":{"type":"string"}},"required":["name"]})"));
  ASSERT_TRUE(json.ok());
  std::string text;
  int state = (*json)->start();
  for (int left = 9; (*json)->Allowed(state, left).size() == 1; --left) {
    const TokenId token = (*json)->Allowed(state, left).front();
    text += tokens[static_cast<std::size_t>(token)];
    state = (*json)->Next(state, token);
  }
  EXPECT_EQ(text, "{\"name\":\"");
  EXPECT_EQ((*json)->TokensNeeded((*json)->start()), 5);
}

TEST(TokenAutomaton, KnowsWhatTheVocabularyCannotSpell) {
  const Expression umlaut = Text("\xC3\xB6");
  EXPECT_THAT(Over({"a", "\xC3"}, umlaut),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot spell")));
  const auto whole = Over({"a", "\xC3\xB6"}, umlaut);
  ASSERT_TRUE(whole.ok());
  EXPECT_THAT((*whole)->Allowed((*whole)->start(), 1), ElementsAre(1));
}

// Answers by random allowed tokens.
struct Walk {
  std::string text;
  bool is_complete = false;
  int tokens = 0;
};

Walk RandomWalk(const TokenAutomaton& shape, const std::vector<std::string>& tokens, int most,
                std::mt19937& random) {
  Walk walk;
  int state = shape.start();
  while (walk.tokens < most && !shape.IsComplete(state)) {
    const auto allowed = shape.Allowed(state, most - walk.tokens);
    // The end of text is one more choice.
    if (shape.MayEnd(state) && random() % (allowed.size() + 1) == 0) break;
    if (allowed.empty()) break;
    const TokenId token = allowed[random() % allowed.size()];
    EXPECT_TRUE(std::ranges::is_sorted(allowed));
    walk.text += tokens[static_cast<std::size_t>(token)];
    state = shape.Next(state, token);
    EXPECT_NE(state, Automaton::kNone);
    ++walk.tokens;
  }
  walk.is_complete = shape.MayEnd(state);
  return walk;
}

Expression RandomExpression(std::mt19937& random, int depth) {
  const auto letter = [&] { return std::string(1, static_cast<char>('a' + random() % 3)); };
  switch (depth == 0 ? 0 : random() % 5) {
    case 1:
      return Concat({RandomExpression(random, depth - 1), RandomExpression(random, depth - 1)});
    case 2:
      return AnyOf({RandomExpression(random, depth - 1), RandomExpression(random, depth - 1)});
    case 3:
      return Repeat(RandomExpression(random, depth - 1), static_cast<int>(random() % 2),
                    kUnbounded);
    case 4:
      return Repeat(RandomExpression(random, depth - 1), static_cast<int>(random() % 3), 3,
                    letter());
    default:
      return Text(letter() + letter());
  }
}

TEST(TokenAutomaton, WhateverIsAllowedCanBeCompleted) {
  std::mt19937 random(11);
  int walks = 0;
  for (int i = 0; i < 400; ++i) {
    std::set<std::string> vocabulary;
    for (int t = 0; t < 12; ++t) {
      std::string token;
      for (auto n = 1 + random() % 4; n > 0; --n) token += static_cast<char>('a' + random() % 3);
      vocabulary.insert(token);
    }
    if (i % 2 == 0) vocabulary.insert({"a", "b", "c"});  // else it may lack letters
    const std::vector<std::string> tokens(vocabulary.begin(), vocabulary.end());
    const auto shape = Over(tokens, RandomExpression(random, 3));
    if (!shape.ok()) continue;
    const int needed = std::max(1, (*shape)->TokensNeeded((*shape)->start()));
    for (int most = needed; most < needed + 6; ++most) {
      EXPECT_TRUE(RandomWalk(**shape, tokens, most, random).is_complete);
      ++walks;
    }
  }
  EXPECT_GT(walks, 1000);
}

TEST(TokenAutomaton, WritesJsonThatIsReadBackWithinItsTokens) {
  const auto tokens = WithAllBytes(
      {"{\"", "\":", "\",\"", "name", "ab", "\u00fc", "\xF0\x9F", "[]", "}}", "12", "\\n", "null"});
  const auto shape = Over(tokens, *ReadJsonSchema(R"({"type":"object","properties":{
          "name":{"type":"string","maxLength":6},"tags":{"type":"array","items":{"enum":["x","\u00fc"]},"maxItems":2},
          "of":{"type":"object","properties":{"n":{"type":"number"},"b":{"type":["boolean","null"]}},"required":["n"]}},
          "required":["name","of"]})"));
  ASSERT_TRUE(shape.ok()) << shape.status();
  std::mt19937 random(3);
  const int needed = (*shape)->TokensNeeded((*shape)->start());
  for (int i = 0; i < 300; ++i) {
    const Walk walk = RandomWalk(**shape, tokens, needed + i % 40, random);
    ASSERT_TRUE(walk.is_complete) << walk.text;
    const auto json = nlohmann::json::parse(walk.text, nullptr, false);
    ASSERT_TRUE(json.is_object()) << walk.text;
    EXPECT_TRUE(json.at("name").is_string());
    EXPECT_TRUE(json.at("of").at("n").is_number());
    EXPECT_TRUE(json.at("of").value("b", nlohmann::json()).is_boolean() ||
                json.at("of").value("b", nlohmann::json()).is_null());
    EXPECT_LE(json.value("tags", nlohmann::json::array()).size(), 2U);
    EXPECT_LE(json.size(), 3U);
  }
}

}  // namespace token_automaton_test
}  // namespace submix::shape
