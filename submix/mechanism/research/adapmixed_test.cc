#include "submix/mechanism/research/adapmixed.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/baselines/ball_laws.h"
#include "submix/mechanism/operator_view.h"
#include "submix/mechanism/quantise.h"
#include "submix/mechanism/research/published_pmixed.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace adapmixed_test {

using accounting::FixedNats;
using divergence::RenyiOrder;

MechanismOptions Options(int num_parts, double order, double ball_radius,
                         const ScreenOptions& screen) {
  MechanismOptions options;
  options.name = kAdaPMixedName;
  options.num_parts = num_parts;
  options.order = *RenyiOrder::Create(order);
  options.target_leakage = 1;
  options.ball_radius = ball_radius;
  options.screen = screen;
  return options;
}

std::vector<FixedNats> Plenty(std::size_t num_parts) {
  return std::vector<FixedNats>(num_parts, FixedNats::RoundDown(8000));
}

// The proposal of the token, everybody having paid for the screen.
std::unique_ptr<Proposal> AfterScreen(const Mechanism& mechanism,
                                      const SimulatedPredictions& predictions,
                                      base::RandomSource& random) {
  const auto num_parts = static_cast<std::size_t>(predictions.view().num_parts);
  auto proposal = *mechanism.Propose(predictions.view(), Plenty(num_parts), {1, 1});
  EXPECT_TRUE(proposal->leads_to_screen());
  PrivateScreen screen = std::move(*proposal).Screen(std::vector<bool>(num_parts, true));
  return *OperatorView::Open(std::move(screen), random, Plenty(num_parts), {1, 2});
}

TEST(AdaPMixedTest, TheScreenCostsWhatThePaperSays) {
  const auto mechanism = *AdaPMixed::Create(Options(50, 18, 3.6, {1e-4, 1e-2, 4.5, 60}));
  const SimulatedPredictions predictions({.5, .5}, std::vector<Pmf>(50, Pmf{.5, .5}));
  const auto proposal = *mechanism->Propose(predictions.view(), Plenty(50), {});
  // 2,560 queries at N = 50: .0018.
  EXPECT_NEAR(2560 * proposal->charges()[0].ToNatsRoundedUp(), .0018, 5e-5);
}

TEST(AdaPMixedTest, AnAnswerCostsTheLargestLeaveOneOut) {
  const auto random = base::MakeSeededRandomSource(1);
  for (int trial = 0; trial < 50; ++trial) {
    const int k = 2 + static_cast<int>(random->NextBelow(4));
    const Pmf public_pmf = RandomPmf(*random, 6, 2);
    std::vector<Pmf> members;
    for (int part = 0; part < k; ++part) members.push_back(RandomPmf(*random, 6, 3));
    const SimulatedPredictions predictions(public_pmf, members);
    // Nothing is above the threshold.
    const auto mechanism = *AdaPMixed::Create(Options(k, 3, .3, {1e-4, 1e-6, 1e9, 6}));
    auto proposal = AfterScreen(*mechanism, predictions, *random);
    const BallLaws laws = *BallLaws::Create(predictions.view());
    const ShiftExcess kernel(*RenyiOrder::Create(3));
    std::vector<Pmf> parts;
    for (int part = 0; part < k; ++part) {
      parts.emplace_back();
      for (const std::uint64_t weight : RenyiBallLaw(laws, part, kernel, .3)) {
        parts.back().push_back(static_cast<double>(weight) / kTotalWeight);
      }
    }
    double largest = 0;
    Pmf all(6, 0);
    for (int without = -1; without < k; ++without) {
      Pmf mean(6, 0);
      for (int part = 0; part < k; ++part) {
        if (part == without) continue;
        for (std::size_t x = 0; x < 6; ++x) {
          mean[x] += parts[static_cast<std::size_t>(part)][x] / (without < 0 ? k : k - 1);
        }
      }
      if (without < 0) all = mean;
      if (without >= 0) {
        largest = std::max(largest, SymmetricRenyiDivergence(all, mean, *RenyiOrder::Create(3)));
      }
    }
    for (const FixedNats charge : proposal->charges()) {
      EXPECT_NEAR(charge.ToNatsRoundedUp(), largest, 1e-9 * largest + 1e-15);
    }
    const PrivateMixture mixture =
        std::move(*proposal).Mix(std::vector<bool>(static_cast<std::size_t>(k), true), *random);
    for (std::size_t x = 0; x < 6; ++x) {
      EXPECT_NEAR(OperatorView::Probability(mixture, x), all[x], 1e-12);
    }
  }
}

TEST(AdaPMixedTest, WhatIsTooDearIsAnsweredPubliclyAndFree) {
  const auto random = base::MakeSeededRandomSource(2);
  const SimulatedPredictions predictions({.5, .5}, {{.9, .1}, {.9, .1}});
  const auto mechanism = *AdaPMixed::Create(Options(2, 2, 1, {1, .01, .1, 2}));
  auto proposal = AfterScreen(*mechanism, predictions, *random);
  EXPECT_EQ(proposal->charges()[0], FixedNats());
  const PrivateMixture mixture = std::move(*proposal).Mix({true, true}, *random);
  EXPECT_NEAR(OperatorView::Probability(mixture, 0), .5, 1e-12);
}

TEST(AdaPMixedTest, WithPublishedAccountingItIsPMixedBehindTheScreen) {
  const auto random = base::MakeSeededRandomSource(4);
  const SimulatedPredictions predictions({.5, .5}, {{.9, .1}, {.8, .2}});
  for (const bool is_too_dear : {false, true}) {
    MechanismOptions options = Options(2, 3, 0, {1, 1e-6, is_too_dear ? 1e-9 : 1e9, 2});
    options.accounting = ChargeAccounting::kPublished;
    options.target_leakage = .25;
    options.sampling_probability = .5;
    const auto mechanism = *AdaPMixed::Create(options);
    auto proposal = AfterScreen(*mechanism, predictions, *random);
    const FixedNats expected = is_too_dear ? FixedNats() : FixedNats::RoundUp(.25);
    for (const FixedNats charge : proposal->charges()) EXPECT_EQ(charge, expected);
  }
}

// Why the spent amount cannot be published cheaply: replacing one part of an ensemble in agreement
// takes a token's charge from nothing to what the most discordant ensemble pays (within a
// factor), for every token. So its local sensitivity at distance 0, and with it any smooth bound,
// is of the size of the worst case.
TEST(AdaPMixedTest, OnePartSwingsTheSpentAmount) {
  const auto random = base::MakeSeededRandomSource(3);
  const auto mechanism = *AdaPMixed::Create(Options(4, 2, .5, {1e-4, 1e-6, 1e9, 2}));
  const auto charge = [&](const std::vector<Pmf>& members) {
    const SimulatedPredictions predictions({.5, .5}, members);
    return AfterScreen(*mechanism, predictions, *random)->charges()[0].ToNatsRoundedUp();
  };
  const Pmf low = {.01, .99};
  const Pmf high = {.99, .01};
  EXPECT_LT(charge({low, low, low, low}), 1e-12);
  const double swung = charge({high, low, low, low});
  EXPECT_GT(swung, .1);
  EXPECT_GE(swung, charge({high, high, low, low}));
}

TEST(AdaPMixedTest, NamesWhatIsWrong) {
  EXPECT_THAT(
      AdaPMixed::Create(Options(4, 2, 0, {})),
      base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("ball radius")));
  MechanismOptions worst_case = Options(4, 2, 1, {});
  worst_case.accounting = ChargeAccounting::kWorstCase;
  EXPECT_THAT(AdaPMixed::Create(worst_case),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("accounting")));
  EXPECT_THAT(AdaPMixed::Create(Options(4, HUGE_VAL, 1, {})),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("infinity")));
}

}  // namespace adapmixed_test
}  // namespace submix::mechanism
