#include "submix/engine/answer_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/shape/shape.h"

namespace submix::engine {
namespace answer_cache_test {

const base::Sha256Digest kGeneration = base::Sha256("one");

Request Question(base::TokenId last) {
  Request request;
  request.prompt = {1, 2, last};
  return request;
}

std::vector<TokenEvent> Answer(base::TokenId token) {
  return {{7, token, "text", AnswerEnd::kNotYet}, {7, token + 1, "", AnswerEnd::kStop}};
}

TEST(AnswerCacheTest, GivesTheStoredTokensAgain) {
  AnswerCache cache(10'000);
  EXPECT_EQ(cache.Find("a", kGeneration, Question(1)), nullptr);
  cache.Insert("a", kGeneration, Question(1), Answer(5));
  const CachedAnswer found = cache.Find("a", kGeneration, Question(1));
  ASSERT_NE(found, nullptr);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ(found->front().token, 5);
  EXPECT_EQ(found->front().text, "text");
  EXPECT_EQ(found->back().end, AnswerEnd::kStop);
  cache.Insert("a", kGeneration, Question(1), Answer(9));
  EXPECT_EQ(cache.Find("a", kGeneration, Question(1))->front().token, 9) << "the newest counts";
  EXPECT_EQ(found->front().token, 5) << "who has the old one keeps it";
}

TEST(AnswerCacheTest, EverySettingTellsQuestionsApart) {
  std::vector<Request> questions(16, Question(1));
  questions[1].prompt = {1, 2};
  questions[2].prompt = {1, 2, 1, 1};
  questions[3].max_tokens = 17;
  questions[4].sampling.temperature = .5;
  questions[5].sampling.top_p = .5;
  questions[6].sampling.top_k = 5;
  questions[7].stop = {"ab", "c"};
  questions[8].stop = {"a", "bc"};
  questions[9].end_tokens = {1};
  questions[10].end_tokens = {1, 2};
  questions[11].sampling.top_k_plus = 5;
  const std::vector<std::string> texts = {"a", "b"};
  shape::Shapes shapes(std::make_shared<const shape::Vocabulary>(texts));
  questions[12].shape = shapes.Compile({shape::ShapeKind::kRegex, "a"}).value();
  questions[13].shape = shapes.Compile({shape::ShapeKind::kRegex, "b"}).value();
  questions[14].one_of = {1, 2};
  questions[15].one_of = {1, 3};
  AnswerCache cache(100'000);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    EXPECT_EQ(cache.Find("a", kGeneration, questions[i]), nullptr) << i;
    cache.Insert("a", kGeneration, questions[i], Answer(static_cast<int>(i)));
  }
  for (std::size_t i = 0; i < questions.size(); ++i) {
    EXPECT_EQ(cache.Find("a", kGeneration, questions[i])->front().token, static_cast<int>(i));
  }
}

TEST(AnswerCacheTest, KeysAndGenerationsSeeTheirOwnOnly) {
  AnswerCache cache(10'000);
  cache.Insert("a", kGeneration, Question(1), Answer(5));
  EXPECT_EQ(cache.Find("b", kGeneration, Question(1)), nullptr);
  EXPECT_EQ(cache.Find("", kGeneration, Question(1)), nullptr);
  EXPECT_EQ(cache.Find("a", base::Sha256("two"), Question(1)), nullptr);
}

TEST(AnswerCacheTest, TheLeastRecentlyUsedMakesRoomAndOtherKeysDoNot) {
  AnswerCache cache(2'000);
  cache.Insert("b", kGeneration, Question(0), Answer(0));
  int kept = 0;
  for (base::TokenId last = 0; last < 100; ++last) {
    cache.Insert("a", kGeneration, Question(last), Answer(last));
    ASSERT_NE(cache.Find("a", kGeneration, Question(0)), nullptr) << "in use all the time";
  }
  for (base::TokenId last = 0; last < 100; ++last) {
    if (cache.Find("a", kGeneration, Question(last)) != nullptr) ++kept;
  }
  EXPECT_GE(kept, 2);
  EXPECT_LT(kept, 10);
  EXPECT_NE(cache.Find("a", kGeneration, Question(99)), nullptr);
  EXPECT_NE(cache.Find("b", kGeneration, Question(0)), nullptr);
}

TEST(AnswerCacheTest, WhatDoesNotFitIsNotKept) {
  AnswerCache cache(1'000);
  cache.Insert("a", kGeneration, Question(1), Answer(1));
  cache.Insert("a", kGeneration, Question(2), std::vector<TokenEvent>(100));
  EXPECT_EQ(cache.Find("a", kGeneration, Question(2)), nullptr);
  EXPECT_NE(cache.Find("a", kGeneration, Question(1)), nullptr) << "and drives nothing out";
  AnswerCache nothing(0);
  nothing.Insert("a", kGeneration, Question(1), Answer(1));
  EXPECT_EQ(nothing.Find("a", kGeneration, Question(1)), nullptr);
}

}  // namespace answer_cache_test
}  // namespace submix::engine
