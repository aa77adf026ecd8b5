#include "submix/engine/prompt_turns.h"

#include <gmock/gmock.h>

namespace submix::engine {
namespace prompt_turns_test {

using testing::ElementsAre;
using testing::Pair;

constexpr int kManyPlaces = 100;

// Tokens by request, of a step of `most` tokens.
std::vector<std::pair<std::int64_t, int>> TakeStep(PromptTurns& turns, int most) {
  std::vector<StepShare> shares;
  while (most > 0 && turns.size() > 0) most -= turns.Take(most, kManyPlaces, shares);
  std::vector<std::pair<std::int64_t, int>> step;
  for (const StepShare& share : shares) step.emplace_back(share.request_id, share.tokens);
  return step;
}

TEST(PromptTurnsTest, KeysTakeTurnsOfAFewTokens) {
  PromptTurns turns;
  turns.Begin("long", 1, 100);
  EXPECT_THAT(TakeStep(turns, 40), ElementsAre(Pair(1, 40)));
  turns.Begin("short", 2, 5);
  turns.Begin("other", 3, 50);
  EXPECT_THAT(TakeStep(turns, 40), ElementsAre(Pair(1, 19), Pair(2, 5), Pair(3, 16)));
  EXPECT_FALSE(turns.is_entering("short"));
  EXPECT_TRUE(turns.is_entering("other"));
  EXPECT_THAT(TakeStep(turns, 16), ElementsAre(Pair(3, 16)));
  turns.Drop(1);
  turns.Drop(2);
  EXPECT_THAT(TakeStep(turns, 100), ElementsAre(Pair(3, 18)));
  EXPECT_EQ(turns.size(), 0u);
}

TEST(PromptTurnsTest, AStepOfOneTokenIsATurn) {
  PromptTurns turns;
  turns.Begin("a", 1, 2);
  turns.Begin("b", 2, 1);
  EXPECT_THAT(TakeStep(turns, 1), ElementsAre(Pair(1, 1)));
  EXPECT_THAT(TakeStep(turns, 1), ElementsAre(Pair(2, 1)));
  EXPECT_THAT(TakeStep(turns, 1), ElementsAre(Pair(1, 1)));
}

TEST(PromptTurnsTest, AStepHasRoomForSoManyPrompts) {
  PromptTurns turns;
  turns.Begin("a", 1, 20);
  std::vector<StepShare> shares;
  EXPECT_EQ(turns.Take(100, 1, shares), 16);
  EXPECT_EQ(turns.Take(100, 1, shares), 4) << "it has its place already";
  EXPECT_EQ(turns.Take(100, 1, shares), 0) << "nothing enters";
  turns.Begin("b", 2, 1);
  EXPECT_EQ(turns.Take(100, 1, shares), 0) << "no place";
  EXPECT_EQ(turns.Take(100, 2, shares), 1);
}

}  // namespace prompt_turns_test
}  // namespace submix::engine
