// Mix draws noise: tests of its law are statistical, on seeded streams, each false with probability
// below 1e-6.
#include "submix/mechanism/baselines/sample_and_aggregate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "submix/accounting/calculators/laplace_rdp.h"
#include "submix/base/testing/goodness_of_fit.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/testing/transcripts.h"

namespace submix::mechanism {
namespace sample_and_aggregate_test {

using accounting::FixedNats;
using accounting::LaplaceRdp;
using divergence::RenyiOrder;
using divergence::SymmetricRenyiDivergence;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kOrders[] = {1, 1.5, 2, 8, 18, kInfinity};
constexpr double kUnit = static_cast<double>(SampleAndAggregate::kPartWeight);

RenyiOrder Order(double value) { return *RenyiOrder::Create(value); }

MechanismOptions Options(std::size_t num_parts, double order, double target_leakage,
                         ChargeAccounting accounting = ChargeAccounting::kDefault) {
  MechanismOptions options;
  options.name = kSampleAndAggregateName;
  options.num_parts = static_cast<int>(num_parts);
  options.order = Order(order);
  options.target_leakage = target_leakage;
  options.accounting = accounting;
  return options;
}

std::unique_ptr<SampleAndAggregate> Make(std::size_t num_parts, double order, double target_leakage,
                                         ChargeAccounting accounting = ChargeAccounting::kDefault) {
  return *SampleAndAggregate::Create(Options(num_parts, order, target_leakage, accounting));
}

std::unique_ptr<Proposal> Propose(const Mechanism& mechanism,
                                  const SimulatedPredictions& predictions) {
  const auto k = static_cast<std::size_t>(predictions.view().num_parts);
  return *mechanism.Propose(predictions.view(), std::vector<FixedNats>(k), {});
}

// The divergence of the noisy sums, if a part's pmf of weight 1 moves by these shares of it:
// coordinates are independent, so their divergences add up.
double NoisySumNats(const std::vector<double>& moves, double noise_scale, RenyiOrder order) {
  double nats = 0;
  for (const double move : moves) nats += LaplaceRdp(std::abs(move) * kUnit / noise_scale, order);
  return nats;
}

TEST(SampleAndAggregateTest, TheChargeIsAttainedByPointMassesAndNoMore) {
  for (const double order : kOrders) {
    for (const double beta : {1e-4, 2.0 / 1024, .5, 5.0}) {
      const auto mechanism = Make(3, order, beta);
      const double scale = static_cast<double>(mechanism->noise_scale());
      const auto proposal = Propose(*mechanism, SimulatedPredictions({1}, {{1}, {1}, {1}}));
      const double charge = proposal->charges()[1].ToNatsRoundedUp();
      EXPECT_LE(charge, beta);
      EXPECT_GT(charge, beta * (1 - 1e-6));
      const double worst = NoisySumNats({1, -1}, scale, Order(order));
      EXPECT_NEAR(charge, worst, 1e-6 * worst);
      EXPECT_LT(charge / 2, worst) << "half would not do";
      // Spread over more tokens the same change costs less.
      EXPECT_LE(NoisySumNats({.5, .5, -1}, scale, Order(order)), charge * (1 + 1e-9));
      EXPECT_LE(NoisySumNats({.9, -.3, -.6}, scale, Order(order)), charge * (1 + 1e-9));
      // One coordinate that moved by all of 2/k, which no pmf does, bounds it too.
      EXPECT_LE(charge, LaplaceRdp(2 * kUnit / scale, Order(order)) * (1 + 1e-6));
    }
  }
}

TEST(SampleAndAggregateTest, ExactChargesAreThePartsOwn) {
  const auto random = base::MakeSeededRandomSource(1);
  for (const double order : kOrders) {
    const auto mechanism = Make(3, order, .1, ChargeAccounting::kLeaveOneOut);
    EXPECT_TRUE(mechanism->is_sound());
    const double scale = static_cast<double>(mechanism->noise_scale());
    for (int trial = 0; trial < 30; ++trial) {
      const std::size_t support_size = 2 + random->NextBelow(200);
      const Pmf public_pmf = RandomPmf(*random, support_size, 3);
      std::vector<Pmf> members = {RandomPmf(*random, support_size, 4),
                                  RandomPmf(*random, support_size, 4), public_pmf};
      const auto charges =
          Propose(*mechanism, SimulatedPredictions(public_pmf, members))->charges();
      for (std::size_t part = 0; part < 3; ++part) {
        std::vector<double> moves;
        for (std::size_t x = 0; x < support_size; ++x) {
          moves.push_back(members[part][x] - public_pmf[x]);
        }
        const double expected = NoisySumNats(moves, scale, Order(order));
        EXPECT_NEAR(charges[part].ToNatsRoundedUp(), expected, 1e-4 * expected + 1e-12);
        EXPECT_LE(charges[part], FixedNats::RoundDown(.1));
      }
      EXPECT_EQ(charges[2], FixedNats());
      // The others do not matter: Theorem 1's first assumption.
      members[1] = RandomPmf(*random, support_size, 9);
      EXPECT_EQ(Propose(*mechanism, SimulatedPredictions(public_pmf, members))->charges()[0],
                charges[0]);
    }
  }
}

// The law of a token over many draws of the noise.
Pmf MeanLaw(const Mechanism& mechanism, const PartPredictions& predictions,
            const std::vector<bool>& paid, base::RandomSource& random, int draws) {
  Pmf mean(predictions.support_size(), 0);
  for (int i = 0; i < draws; ++i) {
    auto proposal = *mechanism.Propose(predictions, std::vector<FixedNats>(paid.size()), {});
    const Pmf law = LawOf(std::move(*proposal).Mix(paid, random), predictions.support_size());
    for (std::size_t x = 0; x < mean.size(); ++x) mean[x] += law[x] / draws;
  }
  return mean;
}

// With two tokens, q = a / (a + b): a <= q/(1-q) b is a question about two Laplace variables.
TEST(SampleAndAggregateTest, TheNoiseIsLaplaceOfItsScale) {
  const auto random = base::MakeStatisticalRandomSource(2);
  const auto mechanism = Make(1, kInfinity, 1);
  ASSERT_NEAR(static_cast<double>(mechanism->noise_scale()), 2 * kUnit, 1);
  const SimulatedPredictions predictions({.5, .5}, {{.75, .25}});
  constexpr int kDraws = 40'000;
  std::vector<std::int64_t> counts(4, 0);  // which of the two were clipped
  for (int i = 0; i < kDraws; ++i) {
    const Pmf law = LawOf(std::move(*Propose(*mechanism, predictions)).Mix({true}, *random), 2);
    const bool first_clipped = law[0] < 1e-7;
    const bool second_clipped = law[1] < 1e-7;
    const bool is_public = std::abs(law[0] - .5) < 1e-9;  // both clipped
    ++counts[is_public ? 3 : (first_clipped ? 1 : 0) + (second_clipped ? 2 : 0)];
  }
  const double first = std::exp(-.75 / 2) / 2;   // P(.75 + 2 X <= 0)
  const double second = std::exp(-.25 / 2) / 2;  // P(.25 + 2 X <= 0)
  EXPECT_LT(base::ChiSquareScore(
                counts, std::vector<double>{(1 - first) * (1 - second), first * (1 - second),
                                            (1 - first) * second, first * second}),
            5);
}

TEST(SampleAndAggregateTest, ALittleNoiseLeavesTheMean) {
  const auto random = base::MakeStatisticalRandomSource(3);
  const auto mechanism = Make(2, kInfinity, 8000);
  const SimulatedPredictions predictions({.5, .3, .2}, {{.1, .1, .8}, {.6, .2, .2}});
  const Pmf both = MeanLaw(*mechanism, predictions.view(), {true, true}, *random, 50);
  EXPECT_NEAR(both[2], .5, 1e-3);
  const Pmf one = MeanLaw(*mechanism, predictions.view(), {true, false}, *random, 50);
  EXPECT_NEAR(one[2], .5, 1e-3);
  EXPECT_NEAR(one[0], .3, 1e-3);
}

TEST(SampleAndAggregateTest, EveryTokenStaysPossibleAndTheTotalFits) {
  const auto random = base::MakeSeededRandomSource(4);
  const auto mechanism = Make(2, 2, 1e-11);  // noise beyond the largest weight
  const Pmf flat(5000, 1.0 / 5000);
  const SimulatedPredictions predictions(flat, {flat, flat});
  const Pmf law =
      LawOf(std::move(*Propose(*mechanism, predictions)).Mix({true, true}, *random), 5000);
  EXPECT_GT(*std::min_element(law.begin(), law.end()), 0);
}

// A token's law as the mean of many: noise is fresh for every token and charges do not depend on
// it, so one branch is enough.
Answerer AveragingAnswerer(const Mechanism& mechanism, base::RandomSource& random, int draws) {
  return [&mechanism, &random, draws](const PartPredictions& predictions,
                                      const std::vector<FixedNats>& remaining, Accounts accounts) {
    auto proposal = *mechanism.Propose(predictions, remaining, {});
    const std::vector<bool> paid =
        ChargeAccounts(mechanism.charge_rule(), proposal->charges(), accounts);
    const Pmf law = MeanLaw(mechanism, predictions, paid, random, draws);
    std::vector<Branch> branches;
    branches.push_back({1, std::move(accounts), law});
    return branches;
  };
}

// Whole transcripts of adaptive conversations, two sequences at a time, by laws that are known to
// about half a percent. Tokens show less than the noisy sums, which is what is charged.
TEST(SampleAndAggregateTest, WholeTranscriptsStayWithinTheBudget) {
  const auto random = base::MakeStatisticalRandomSource(5);
  constexpr double kNoise = 1e-3;  // of a divergence estimated from 15 laws, 20,000 draws each
  double largest = 0;
  for (const auto accounting : {ChargeAccounting::kDefault, ChargeAccounting::kLeaveOneOut}) {
    for (const double value : {1.5, 2.0, 8.0}) {
      const std::size_t num_parts = 1 + random->NextBelow(2);
      const double budget = std::exp(1.5 * NextUnit(*random));
      // A budget for three answers of four.
      const auto mechanism = Make(num_parts, value, budget / 3.5, accounting);
      const Answerer answerer = AveragingAnswerer(*mechanism, *random, 20'000);
      const Policy policy = RandomPolicy(*random, 2, num_parts, 4);
      const auto law_under = [&](const Policy& any) {
        return TranscriptLaw({answerer, any, num_parts, budget, 2, 2}).law();
      };
      const Pmf law = law_under(policy);
      const double divergence =
          SymmetricRenyiDivergence(law, law_under(WithNullPart(policy, 0)), Order(value));
      EXPECT_LE(divergence, budget + kNoise);
      largest = std::max(largest, divergence / budget);
      if (accounting == ChargeAccounting::kLeaveOneOut) continue;
      const Pmf other = RandomPmf(*random, 2, 20);
      const Policy replaced =
          WithPart(policy, 0, [&](const PartPredictions&, int) { return other; });
      EXPECT_LE(SymmetricRenyiDivergence(law, law_under(replaced), Order(value)), budget + kNoise);
    }
  }
  EXPECT_GT(largest, .02) << "the search is too weak";
}

TEST(SampleAndAggregateTest, StatesAFixedNumberOfAnswersAtEveryOrder) {
  const auto mechanism = Make(8, 2, 2.0 / 1024);
  const auto statement = mechanism->Statement(FixedNats::RoundDown(2));
  EXPECT_THAT(statement.proof, testing::HasSubstr("at most 1024 tokens"));
  const double scale = static_cast<double>(mechanism->noise_scale());
  for (const auto& bound : statement.further_bounds) {
    const double expected = 1024 * NoisySumNats({1, -1}, scale, bound.order);
    EXPECT_NEAR(bound.rdp, expected, 1e-6 * expected);
  }
  EXPECT_TRUE(statement.further_bounds.back().order.is_infinite());
  const auto exact = Make(8, 2, 2.0 / 1024, ChargeAccounting::kLeaveOneOut);
  EXPECT_TRUE(exact->Statement(FixedNats::RoundDown(2)).proven);
  EXPECT_TRUE(exact->Statement(FixedNats::RoundDown(2)).further_bounds.empty());
}

TEST(SampleAndAggregateTest, RefusesWhatItCannotCharge) {
  EXPECT_THAT(SampleAndAggregate::Create(Options(2, 2, 1, ChargeAccounting::kPublished)),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("research")));
  EXPECT_THAT(SampleAndAggregate::Create(Options(2, kInfinity, 1e-7)),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("at least")));
  const SimulatedPredictions bad({.5, .6}, {{.5, .5}});
  EXPECT_THAT(Make(1, 2, .1)->Propose(bad.view(), std::vector<FixedNats>(1), {}),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("public")));
}

}  // namespace sample_and_aggregate_test
}  // namespace submix::mechanism
