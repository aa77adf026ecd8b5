#include "submix/eval/attacks/targeted.h"

#include <cmath>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/eval/measuring/testing/reciting_predictor.h"

namespace submix::eval {
namespace targeted_test {

const TargetedExample kKnown = {{0, 0}, {3, 1, 4, 1}};
const TargetedExample kUnknown = {{0, 0}, {3, 1, 2, 1}};

TargetedGuess Guess(std::size_t row, const TargetedExample& example, int guesses) {
  RecitingPredictor predictor(4);
  const auto random = base::MakeSeededRandomSource(1);
  return *GuessSuffix(predictor, *MakeRowLaw(row), example, guesses, *random);
}

TEST(TargetedTest, TheLikeliestSuffixIsGuessedAndItsTokensAreCompared) {
  const double certainty = -std::log1p(10 * std::exp(-4.0));
  const TargetedGuess known = Guess(2, kKnown, 1);
  EXPECT_TRUE(known.is_right);
  EXPECT_EQ(known.tokens_right, 1);
  EXPECT_NEAR(known.log_probability, certainty, 1e-6);
  const TargetedGuess unknown = Guess(2, kUnknown, 1);
  EXPECT_FALSE(unknown.is_right);
  EXPECT_EQ(unknown.tokens_right, 0.75);
  EXPECT_FALSE(Guess(1, kKnown, 1).is_right);
}

TEST(TargetedTest, OfManySamplesTheLikeliestIsHandedIn) {
  EXPECT_TRUE(Guess(2, kKnown, 100).is_right);
  EXPECT_LT(Guess(1, kKnown, 100).tokens_right, 1);
}

TEST(TargetedTest, SureGuessesComeFirst) {
  std::vector<TargetedGuess> guesses = {
      {false, 0.5, -3}, {true, 1, -1}, {false, 0, -2}, {true, 1, -4}};
  const TargetedSummary summary = Summarise(guesses);
  EXPECT_EQ(summary.right, 2);
  EXPECT_EQ(summary.recall, 0.5);
  EXPECT_NEAR(summary.tokens_right, 0.625, 1e-15);
  ASSERT_EQ(summary.curve.size(), 4u);
  EXPECT_EQ(summary.curve[0].precision, 1);
  EXPECT_EQ(summary.curve[1].precision, 0.5);
  EXPECT_NEAR(summary.curve[2].precision, 1.0 / 3, 1e-15);
  EXPECT_EQ(summary.curve[2].recall, 0.25);
  EXPECT_EQ(summary.curve[3].recall, 0.5);
}

TEST(TargetedTest, TheChallengeStopsAtTheHundredAndFirstError) {
  std::vector<TargetedGuess> guesses;
  for (int i = 0; i < 101; ++i) guesses.push_back({false, 0, -1});
  guesses.insert(guesses.begin() + 50, TargetedGuess{true, 1, -1});
  guesses.push_back({true, 1, -2});  // too unsure
  const TargetedSummary summary = Summarise(guesses);
  EXPECT_NEAR(summary.recall_at_100_errors, 1.0 / 103, 1e-15);
  EXPECT_NEAR(summary.recall, 2.0 / 103, 1e-15);
}

}  // namespace targeted_test
}  // namespace submix::eval
