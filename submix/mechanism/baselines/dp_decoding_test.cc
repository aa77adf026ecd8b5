#include "submix/mechanism/baselines/dp_decoding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "submix/accounting/bisection.h"
#include "submix/accounting/calculators/dp_decoding_rdp.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/testing/transcripts.h"

namespace submix::mechanism {
namespace dp_decoding_test {

using accounting::FixedNats;
using divergence::RenyiOrder;
using divergence::SymmetricRenyiDivergence;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kOrders[] = {1, 1.5, 2, 8, 18, kInfinity};

RenyiOrder Order(double value) { return *RenyiOrder::Create(value); }

// By the calculators' formula, which is another one.
double LargestMixingWeight(double nats, std::size_t support_size, RenyiOrder order) {
  const auto fits = [&](double weight) {
    return accounting::DpDecodingRdp(weight, static_cast<std::int64_t>(support_size), order) <=
           nats;
  };
  return accounting::FindBoundary(0, 1, fits).holds;
}

std::unique_ptr<DpDecoding> Make(std::size_t num_parts, double order, double target_leakage) {
  MechanismOptions options;
  options.name = kDpDecodingName;
  options.num_parts = static_cast<int>(num_parts);
  options.order = Order(order);
  options.target_leakage = target_leakage;
  return *DpDecoding::Create(options);
}

Pmf Law(const Mechanism& mechanism, const SimulatedPredictions& predictions,
        const std::vector<bool>& paid) {
  NoRandomness no_randomness;
  auto proposal = *mechanism.Propose(predictions.view(), std::vector<FixedNats>(paid.size()), {});
  return LawOf(std::move(*proposal).Mix(paid, no_randomness), predictions.view().support_size());
}

Pmf PointMass(std::size_t support_size, std::size_t token) {
  Pmf pmf(support_size, 0);
  pmf[token] = 1;
  return pmf;
}

TEST(DpDecodingTest, TheCostIsTheAccountants) {
  for (const std::size_t support_size : {2, 3, 60, 50257}) {
    for (const double weight : {1e-6, .01, .1, .5, .9}) {
      const double v = static_cast<double>(support_size);
      const double odds = 1 + v * weight / (1 - weight);
      for (const double order : {1.0, 1 + 1e-7, 1.5, 2.0, 18.0, 500.0, kInfinity}) {
        const double expected = accounting::DpDecodingRdp(
            weight, static_cast<std::int64_t>(support_size), Order(order));
        EXPECT_NEAR(DpDecodingNats(odds, support_size, Order(order)), expected, 1e-9 * expected)
            << v << " " << weight << " " << order;
      }
    }
  }
  // lambda = .1 at the vocabulary of GPT-2.
  EXPECT_NEAR(DpDecodingNats(1 + 50257 * .1 / .9, 50257, RenyiOrder::Infinity()), 8.63, .005);
  EXPECT_NEAR(DpDecodingNats(1 + 50257 * .1 / .9, 50257, RenyiOrder::Two()), 6.33, .005);
  EXPECT_EQ(DpDecodingNats(1, 10, RenyiOrder::Two()), 0);
  EXPECT_EQ(DpDecodingNats(100, 1, RenyiOrder::Two()), 0);
}

TEST(DpDecodingTest, TheLawIsTheMeanAndTheUniform) {
  const auto random = base::MakeSeededRandomSource(1);
  for (int trial = 0; trial < 100; ++trial) {
    const std::size_t num_parts = 1 + random->NextBelow(9);
    const int halves = 1 + static_cast<int>(random->NextBelow(2));
    const std::size_t support_size = 2 + random->NextBelow(300);
    std::vector<Pmf> members;
    for (std::size_t row = 0; row < num_parts * static_cast<std::size_t>(halves); ++row) {
      members.push_back(RandomPmf(*random, support_size, 4));
    }
    const SimulatedPredictions predictions(RandomPmf(*random, support_size, 2), members, halves);
    const double beta = std::exp(-8 + 9 * NextUnit(*random));
    const RenyiOrder order = Order(kOrders[random->NextBelow(std::size(kOrders))]);
    const double weight = LargestMixingWeight(beta, support_size, order);
    const Pmf law =
        Law(*Make(num_parts, order.value(), beta), predictions, std::vector<bool>(num_parts, true));
    for (std::size_t x = 0; x < support_size; ++x) {
      double mean = 0;
      for (const Pmf& member : members) mean += member[x] / static_cast<double>(members.size());
      const double expected = weight * mean + (1 - weight) / static_cast<double>(support_size);
      EXPECT_NEAR(law[x], expected, 1e-8) << beta << " " << order.ToString();
    }
  }
}

// The charge is the divergence when all private text changes at once, attained by point masses.
TEST(DpDecodingTest, NoChangeOfAllPartsCostsMoreThanTheCharge) {
  const auto random = base::MakeSeededRandomSource(2);
  for (const double order : kOrders) {
    for (const double beta : {1e-9, 1e-4, .01, .5, 3.0, 40.0}) {
      for (const std::size_t support_size : {2, 3, 50}) {
        const std::size_t num_parts = 1 + random->NextBelow(4);
        const auto mechanism = Make(num_parts, order, beta);
        const Pmf public_pmf = RandomPmf(*random, support_size, 3);
        const std::vector<bool> paid(num_parts, true);
        const auto law = [&](const std::vector<Pmf>& members) {
          return Law(*mechanism, SimulatedPredictions(public_pmf, members), paid);
        };
        std::vector<Pmf> any;
        for (std::size_t i = 0; i < num_parts; ++i) {
          any.push_back(RandomPmf(*random, support_size, 8));
        }
        const Pmf one = law(std::vector<Pmf>(num_parts, PointMass(support_size, 0)));
        const Pmf other = law(std::vector<Pmf>(num_parts, PointMass(support_size, 1)));
        EXPECT_LE(SymmetricRenyiDivergence(law(any), one, Order(order)), beta);
        const double worst = SymmetricRenyiDivergence(one, other, Order(order));
        EXPECT_LE(worst, beta * (1 + 1e-11));
        if (beta < 1e-4 || beta > 10) continue;  // at the resolution of the integers
        EXPECT_GT(worst, beta * (1 - 1e-6)) << order << " " << beta;
      }
    }
  }
}

TEST(DpDecodingTest, EveryAnswerCostsTheTarget) {
  const SimulatedPredictions predictions({.5, .5}, {{.9, .1}, {.1, .9}});
  const auto proposal =
      *Make(2, 2, .25)->Propose(predictions.view(), std::vector<FixedNats>(2), {});
  EXPECT_EQ(proposal->charges(), std::vector<FixedNats>(2, FixedNats::RoundDown(.25)));
}

TEST(DpDecodingTest, APartThatDoesNotPayIsThePublicModel) {
  const Pmf public_pmf{.6, .3, .1};
  const SimulatedPredictions predictions(public_pmf, {{0, 0, 1}, {1, 0, 0}});
  const SimulatedPredictions without(public_pmf, {{0, 0, 1}, public_pmf});
  const auto mechanism = Make(2, 2, .1);
  EXPECT_EQ(Law(*mechanism, predictions, {true, false}), Law(*mechanism, without, {true, true}));
}

// All private text changed at once.
Policy WithOtherText(const Policy& policy, const Policy& other) {
  return [=](const History& history) {
    const SimulatedPredictions real = policy(history);
    const SimulatedPredictions changed = other(history);
    const PartPredictions view = changed.view();
    std::vector<Pmf> members;
    for (int row = 0; row < view.num_parts; ++row) {
      const auto pmf = view.member(row, 0);
      members.emplace_back(pmf.begin(), pmf.end());
    }
    const auto public_pmf = real.view().public_pmf;
    return SimulatedPredictions({public_pmf.begin(), public_pmf.end()}, members);
  };
}

// Point masses, alternating, and the same with the tokens exchanged: the worst pair of worlds.
Policy Alternating(std::size_t num_parts, std::size_t shift) {
  return [=](const History& history) {
    const std::size_t token = (history.size() + shift) % 2;
    return SimulatedPredictions({.5, .3, .2}, std::vector<Pmf>(num_parts, PointMass(3, token)));
  };
}

TEST(DpDecodingTest, WholeTranscriptsStayWithinTheBudgetAtEveryOrder) {
  const auto random = base::MakeSeededRandomSource(3);
  constexpr std::size_t kAnswers = 4;
  for (const double value : kOrders) {
    const double budget = std::exp(-3 + 3 * NextUnit(*random));
    const std::size_t num_parts = 1 + random->NextBelow(3);
    // The budget pays for three answers of four.
    const auto mechanism = Make(num_parts, value, budget / 3.5);
    const auto law_under = [&](const Answerer& answerer, const Policy& policy) {
      return TranscriptLaw({answerer, policy, num_parts, budget, kAnswers / 2, 2}).law();
    };
    const Answerer answerer = PlainAnswerer(*mechanism);
    const Policy policy = RandomPolicy(*random, 3, num_parts, kAnswers);
    const Policy other = WithOtherText(policy, RandomPolicy(*random, 3, num_parts, kAnswers));
    const Pmf law = law_under(answerer, policy);
    for (const Policy& neighbour : {other, WithNullPart(policy, 0)}) {
      EXPECT_LE(SymmetricRenyiDivergence(law, law_under(answerer, neighbour), Order(value)),
                budget);
    }
    const Policy worst = Alternating(num_parts, 0);
    const Policy worst_other = Alternating(num_parts, 1);
    const Pmf one = law_under(answerer, worst);
    const Pmf two = law_under(answerer, worst_other);
    const double largest = SymmetricRenyiDivergence(one, two, Order(value));
    EXPECT_LE(largest, budget);
    EXPECT_GT(largest, budget * (3 / 3.5) * (1 - 1e-6));
    const Answerer half_price = HalfPriceAnswerer(*mechanism);
    EXPECT_GT(SymmetricRenyiDivergence(law_under(half_price, worst),
                                       law_under(half_price, worst_other), Order(value)),
              budget)
        << "a halved charge";
    const auto statement = mechanism->Statement(FixedNats::RoundDown(budget));
    EXPECT_THAT(statement.proof, testing::HasSubstr("at most 3 tokens"));
    for (const auto& bound : statement.further_bounds) {
      EXPECT_LE(SymmetricRenyiDivergence(one, two, bound.order), bound.rdp * (1 + 1e-9))
          << value << " " << bound.order.ToString();
    }
  }
}

// What the statement says of other orders holds whatever supports the clients choose.
TEST(DpDecodingTest, TheStatementCoversEverySupport) {
  for (const double value : kOrders) {
    const double beta = .002;
    const auto statement = Make(2, value, beta)->Statement(FixedNats::RoundDown(beta));
    for (const std::size_t support_size :
         std::initializer_list<std::size_t>{2, 3, 10, 1000, 50257, DpDecoding::kLargestSupport}) {
      const double v = static_cast<double>(support_size);
      const double weight = LargestMixingWeight(beta, support_size, Order(value));
      for (const auto& bound : statement.further_bounds) {
        const double odds = 1 + v * weight / (1 - weight);
        EXPECT_LE(DpDecodingNats(odds, support_size, bound.order), bound.rdp * (1 + 1e-9))
            << value << " " << support_size << " " << bound.order.ToString();
      }
    }
  }
}

TEST(DpDecodingTest, RefusesWhatItCannotAccountFor) {
  MechanismOptions options;
  options.num_parts = 1;
  options.target_leakage = 1e-17;
  EXPECT_THAT(DpDecoding::Create(options),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("beta")));
  const SimulatedPredictions wide(Pmf(DpDecoding::kLargestSupport + 1, 1.0 / (0x1p20 + 1)),
                                  {Pmf(DpDecoding::kLargestSupport + 1, 1.0 / (0x1p20 + 1))});
  EXPECT_THAT(Make(1, 2, .1)->Propose(wide.view(), std::vector<FixedNats>(1), {}),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("2^20")));
}

TEST(DpDecodingTest, OneTokenNeedsNoDecision) {
  EXPECT_EQ(Law(*Make(1, 2, .1), SimulatedPredictions({1}, {{1}}), {true}), Pmf{1});
}

}  // namespace dp_decoding_test
}  // namespace submix::mechanism
