#include "submix/eval/audits/one_run_audit.h"

#include <cmath>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/mechanism/research/any_mechanism.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::eval {
namespace one_run_audit_test {

using mechanism::Pmf;
using mechanism::SimulatedPredictions;

// From the program in the paper's appendix D, with SciPy 1.10.
TEST(OneRunAuditTest, PValuesAreThePapers) {
  EXPECT_NEAR(OneRunPValue({100, 100, 75}, 0.5, 0), 0.0048047394854397255, 1e-12);
  EXPECT_NEAR(OneRunPValue({1000, 200, 180}, 1.5, 1e-5), 0.0017015535523771958, 1e-12);
  EXPECT_NEAR(OneRunPValue({1000, 200, 180}, 1.5, 1e-3), 0.07937133211000753, 1e-12);
  EXPECT_NEAR(OneRunPValue({64, 64, 64}, 2, 0), 0.0002965209433577918, 1e-14);
  EXPECT_NEAR(OneRunPValue({64, 20, 20}, 1.2, 1e-4), 0.006947570351754154, 1e-13);
}

TEST(OneRunAuditTest, EpsilonIsTheLargestThatIsRejected) {
  const double epsilon = OneRunEpsilon({100, 100, 75}, 0, 0.05);
  EXPECT_NEAR(OneRunPValue({100, 100, 75}, epsilon, 0), 0.05, 1e-9);
  EXPECT_EQ(OneRunEpsilon({100, 100, 50}, 0, 0.05), 0);
  // All of n right: bias^n = error.
  const double bias = std::pow(0.05, 1.0 / 64);
  EXPECT_NEAR(OneRunEpsilon({64, 64, 64}, 0, 0.05), std::log(bias / (1 - bias)), 1e-9);
}

// Coins answered by randomised response: what is found is below, and near.
TEST(OneRunAuditTest, RandomisedResponseIsFoundFromBelow) {
  const auto random = base::MakeSeededRandomSource(3);
  std::vector<ScoredCoin> coins;
  for (int i = 0; i < 8000; ++i) {
    const bool is_there = random->NextBernoulli(1, 2);
    const bool is_told = DrawUnit(*random) < 0.75;
    coins.push_back({is_there, is_there == is_told ? 1.0 : -1.0});
  }
  const OneRunAudit audit = AuditCoins(coins, 1e-6, 1e-4);
  EXPECT_LE(audit.epsilon, std::log(3.0));
  EXPECT_GT(audit.epsilon, 0.8 * std::log(3.0));
}

// Scores of which only the extreme ones tell: the choice passes the others over.
TEST(OneRunAuditTest, UnsureCoinsArePassedOver) {
  const auto random = base::MakeSeededRandomSource(4);
  std::vector<ScoredCoin> coins;
  for (int i = 0; i < 4000; ++i) {
    const bool is_there = random->NextBernoulli(1, 2);
    const double noise = DrawUnit(*random) - 0.5;
    coins.push_back({is_there, i % 10 == 0 ? (is_there ? 2 : -2) : noise});
  }
  const OneRunAudit audit = AuditCoins(coins, 1e-6, 0.05);
  EXPECT_EQ(audit.guesses.coins, 2000);
  EXPECT_EQ(audit.guesses.guessed, 200);
  EXPECT_EQ(audit.guesses.right, 200);
}

OneRunAudit Play(const std::string& name, double budget, int runs) {
  constexpr int kParts = 4;
  constexpr int kAnswers = 12;
  mechanism::MechanismOptions options;
  options.name = name;
  options.num_parts = kParts;
  options.max_mixing_weight = 1;
  options.target_leakage = budget / kAnswers;
  auto game =
      *OneRunGame::Create({*mechanism::MakeAnyMechanism(options), kParts, budget}, {.runs = runs});
  // Every part has a token of its own, which it is nearly sure of.
  std::vector<Pmf> members;
  for (int part = 0; part < kParts; ++part) {
    members.emplace_back(kParts, 0.01);
    members.back()[static_cast<std::size_t>(part)] = 0.97;
  }
  const SimulatedPredictions predictions(Pmf(kParts, 0.25), members);
  for (int i = 0; i < kAnswers; ++i) EXPECT_TRUE(game.Ask(predictions.view()).ok());
  return AuditCoins(game.coins(), 1e-6, 1e-4);
}

TEST(OneRunAuditTest, ManyPartsOfSoundMechanismsAreGuessedNoBetterThanAllowed) {
  for (const char* name : {"filtered-submix", "dclip"}) {
    const OneRunAudit audit = Play(name, 2, 400);
    EXPECT_EQ(audit.guesses.coins, 800) << name;
    // (2, order 2) is epsilon = 2 + log(1/2) + log(1/(2 delta)) at delta: 14.4 here.
    EXPECT_LT(audit.epsilon, 14.4) << name;
    EXPECT_GT(audit.epsilon, 0.1) << name << ": an audit that finds nothing";
  }
}

TEST(OneRunAuditTest, WhatIsNotPrivateIsGuessed) {
  EXPECT_GT(Play("ensemble", 2, 200).epsilon, 1);
  const OneRunAudit one = Play("ensemble", 2, 1);
  EXPECT_EQ(one.guesses.coins, 2);  // of four the other two chose
}

}  // namespace one_run_audit_test
}  // namespace submix::eval
