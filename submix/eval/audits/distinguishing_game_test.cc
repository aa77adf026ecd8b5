#include "submix/eval/audits/distinguishing_game.h"

#include <cmath>
#include <numeric>

#include "submix/base/testing/status_matchers.h"
#include "submix/eval/audits/roc_curve.h"
#include "submix/mechanism/research/any_mechanism.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::eval {
namespace distinguishing_game_test {

using mechanism::Pmf;
using mechanism::SimulatedPredictions;

constexpr double kBudget = 2;

mechanism::MechanismOptions OptionsOf(const std::string& name, int answers) {
  mechanism::MechanismOptions options;
  options.name = name;
  options.num_parts = 1;
  options.max_mixing_weight = 1;
  options.target_leakage = kBudget / answers;
  return options;
}

DistinguishingGame Play(const mechanism::MechanismOptions& options, const GameOptions& game_options,
                        int answers, const Pmf& member) {
  auto game = *DistinguishingGame::Create(
      {.mechanism = *mechanism::MakeAnyMechanism(options), .epsilon = kBudget}, game_options);
  const Pmf public_pmf = {.6, .4};
  const SimulatedPredictions with(public_pmf, {member});
  const SimulatedPredictions without(public_pmf, {public_pmf});
  for (int i = 0; i < answers; ++i) EXPECT_TRUE(game.Ask(with.view(), without.view()).ok());
  return game;
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// E_Q[e^LLR] = 1 for exact ratios, and E_P[e^LLR] = e^D2: within the budget, near it when spent.
TEST(DistinguishingGameTest, RatiosAreThoseOfTheTranscripts) {
  const auto game = Play(OptionsOf("filtered-submix", 8), {.transcripts = 40000}, 8, {.05, .95});
  double change = 0;
  for (const double ratio : game.without()) change += std::exp(ratio) / 40000;
  EXPECT_NEAR(change, 1, 0.05);
  double second = 0;
  for (const double ratio : game.with()) second += std::exp(ratio) / 40000;
  EXPECT_LE(std::log(second), kBudget + 0.1);
  EXPECT_GT(std::log(second), 0.8 * kBudget);
  EXPECT_GT(Mean(game.with()), 0.5);
  EXPECT_LT(Mean(game.without()), -0.3);
}

TEST(DistinguishingGameTest, TheSameSeedGivesTheSameTranscripts) {
  const mechanism::MechanismOptions options = OptionsOf("filtered-submix", 4);
  const auto first = Play(options, {.transcripts = 50, .seed = 3}, 4, {.05, .95});
  const auto second = Play(options, {.transcripts = 50, .seed = 3}, 4, {.05, .95});
  const auto other = Play(options, {.transcripts = 50, .seed = 4}, 4, {.05, .95});
  EXPECT_EQ(first.with(), second.with());
  EXPECT_EQ(first.without(), second.without());
  EXPECT_NE(first.with(), other.with());
}

TEST(DistinguishingGameTest, AnAbsentTextLeavesNothingToTell) {
  const auto game = Play(OptionsOf("filtered-submix", 4), {.transcripts = 50}, 4, {.6, .4});
  EXPECT_EQ(RocCurve(game.with(), game.without()).area(), 0.5);
}

// With noise of its own every transcript has its own deployment, and the ratios are learned.
TEST(DistinguishingGameTest, AMechanismThatDrawsIsToldApartByLearnedLaws) {
  const auto game =
      Play(OptionsOf("sample-and-aggregate", 4), {.transcripts = 2000}, 4, {.05, .95});
  const RocCurve curve(game.with(), game.without());
  EXPECT_GT(curve.area(), 0.6);
  EXPECT_LT(curve.area(), 0.95);
}

// What is not private is told apart by few answers.
TEST(DistinguishingGameTest, TheEnsembleItselfHidesNothing) {
  const auto game = Play(OptionsOf("ensemble", 20), {.transcripts = 500}, 20, {.02, .98});
  EXPECT_GT(RocCurve(game.with(), game.without()).TruePositivesAt(0.001), 0.99);
}

TEST(DistinguishingGameTest, RefusesTooFewTranscripts) {
  EXPECT_THAT(DistinguishingGame::Create({*mechanism::MakeAnyMechanism(OptionsOf("public", 1))},
                                         {.transcripts = 1}),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("at least 2")));
}

}  // namespace distinguishing_game_test
}  // namespace submix::eval
