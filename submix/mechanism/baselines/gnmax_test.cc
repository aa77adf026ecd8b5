#include "submix/mechanism/baselines/gnmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "submix/accounting/calculators/gnmax_rdp.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/baselines/noisy_votes.h"
#include "submix/mechanism/testing/transcripts.h"

namespace submix::mechanism {
namespace gnmax_test {

using accounting::FixedNats;
using divergence::RenyiOrder;
using divergence::SymmetricRenyiDivergence;

constexpr double kOrders[] = {1, 1.5, 2, 8, 18};

RenyiOrder Order(double value) { return *RenyiOrder::Create(value); }

MechanismOptions Options(std::size_t num_parts, double order, double target_leakage) {
  MechanismOptions options;
  options.name = kGnmaxName;
  options.num_parts = static_cast<int>(num_parts);
  options.order = Order(order);
  options.target_leakage = target_leakage;
  return options;
}

std::unique_ptr<Gnmax> Make(std::size_t num_parts, double order, double target_leakage) {
  return *Gnmax::Create(Options(num_parts, order, target_leakage));
}

// A member that likes `token` best.
Pmf VoteFor(std::size_t support_size, std::size_t token) {
  Pmf pmf(support_size, .5 / static_cast<double>(support_size));
  pmf[token] += .5;
  return pmf;
}

// Public vote: token 0.
SimulatedPredictions VotesOf(std::size_t support_size, const std::vector<std::size_t>& votes) {
  std::vector<Pmf> members;
  for (const std::size_t token : votes) members.push_back(VoteFor(support_size, token));
  return SimulatedPredictions(VoteFor(support_size, 0), members);
}

std::unique_ptr<Proposal> Propose(const Mechanism& mechanism,
                                  const SimulatedPredictions& predictions) {
  const auto k = static_cast<std::size_t>(predictions.view().num_parts);
  return *mechanism.Propose(predictions.view(), std::vector<FixedNats>(k), {});
}

Pmf Law(const Mechanism& mechanism, const SimulatedPredictions& predictions,
        const std::vector<bool>& paid) {
  NoRandomness no_randomness;
  return LawOf(std::move(*Propose(mechanism, predictions)).Mix(paid, no_randomness),
               predictions.view().support_size());
}

Pmf LawOfVotes(const Mechanism& mechanism, std::size_t support_size,
               const std::vector<std::size_t>& votes) {
  return Law(mechanism, VotesOf(support_size, votes), std::vector<bool>(votes.size(), true));
}

TEST(GnmaxTest, NoiseFollowsFromTheTarget) {
  for (const double order : kOrders) {
    for (const double beta : {1e-6, 2.0 / 1024, .5, 100.0}) {
      const auto mechanism = Make(4, order, beta);
      const double charge = GnmaxTokenNats(mechanism->noise_scale(), Order(order));
      EXPECT_LE(charge, beta);
      EXPECT_GT(charge, beta * (1 - 1e-9));
      const auto proposal = Propose(*mechanism, VotesOf(2, {0, 1, 0, 1}));
      EXPECT_EQ(proposal->charges(), std::vector<FixedNats>(4, FixedNats::RoundUp(charge)));
    }
  }
  // a / s^2 but for the rounding.
  EXPECT_NEAR(Make(8, 2, 2.0 / 1024)->noise_scale(), 32, 1e-3);
}

TEST(GnmaxTest, TheSlackForRoundingIsSmallAndAtEveryOrder) {
  const RenyiOrder two = Order(2);
  EXPECT_NEAR(GnmaxTokenNats(32, two), 2.0 / 1024 + 3 * kLawRounding, 1e-15);
  const double v = 1.0 / 1024;
  EXPECT_NEAR(GnmaxTokenNats(32, RenyiOrder::One()),
              v + 2 * std::sqrt(kLawRounding * v) + 2 * kLawRounding, 1e-15);
  EXPECT_TRUE(std::isinf(GnmaxTokenNats(32, RenyiOrder::Infinity())));
  double last = 0;
  for (const double order : {1.0, 1.0001, 1.003, 1.1, 2.0, 64.0}) {
    EXPECT_GE(GnmaxTokenNats(32, Order(order)), last);
    last = GnmaxTokenNats(32, Order(order));
  }
}

// Against the law that is proven private: with probability eta uniform, else the noisy argmax.
TEST(GnmaxTest, TheSampledLawIsWithinItsRoundingOfTheProvenOne) {
  const auto random = base::MakeSeededRandomSource(1);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t num_parts = 1 + random->NextBelow(12);
    const std::size_t support_size = 1 + random->NextBelow(trial % 2 == 0 ? 5 : 60'000);
    std::vector<std::size_t> votes;
    for (std::size_t i = 0; i < num_parts; ++i) {
      votes.push_back(random->NextBelow(std::min<std::size_t>(support_size, 4)));
    }
    const auto mechanism = Make(num_parts, 2, std::exp2(-12 + 14 * NextUnit(*random)));
    std::vector<int> counts(support_size, 0);
    for (const std::size_t token : votes) ++counts[token];
    std::vector<VoteLevel> levels;
    for (int count = 0; count <= static_cast<int>(num_parts); ++count) {
      levels.push_back({count, std::count(counts.begin(), counts.end(), count)});
    }
    std::vector<double> probabilities(levels.size());
    NoisyVotesLaw(levels, mechanism->noise_scale(), probabilities);
    const double floor = static_cast<double>(kUniformVoteWeight);
    const double total = floor * static_cast<double>(support_size) + 0x1p61;
    const Pmf law = LawOfVotes(*mechanism, support_size, votes);
    for (std::size_t x = 0; x < support_size; ++x) {
      const double proven =
          (floor + 0x1p61 * probabilities[static_cast<std::size_t>(counts[x])]) / total;
      ASSERT_LE(std::abs(std::log(law[x] / proven)), kLawRounding);
    }
  }
}

TEST(GnmaxTest, PartsVoteByTheMeanOfTheirHalvesAndTiesGoToTheLowerToken) {
  const Pmf public_pmf{.2, .3, .5};
  const auto mechanism = Make(1, 2, .5);
  const auto votes_for = [&](const Pmf& first, const Pmf& second) {
    const Pmf law = Law(*mechanism, SimulatedPredictions(public_pmf, {first, second}, 2), {true});
    return std::max_element(law.begin(), law.end()) - law.begin();
  };
  EXPECT_EQ(votes_for({1, 0, 0}, {1, 0, 0}), 0);
  EXPECT_EQ(votes_for({.6, .4, 0}, {0, .5, .5}), 1);
  EXPECT_EQ(votes_for({.5, .25, .25}, {0, .5, .5}), 1) << "a tie of 1 and 2";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(votes_for({1, 0, 0}, {nan, .5, .5}), 2) << "null: the public vote";
}

TEST(GnmaxTest, APartThatSitsOutVotesAsThePublicModelDoes) {
  const auto mechanism = Make(3, 2, .5);
  EXPECT_EQ(Law(*mechanism, VotesOf(4, {1, 2, 3}), {true, false, true}),
            LawOfVotes(*mechanism, 4, {1, 0, 3}));
}

// Every change of one vote in every small election, at every order.
TEST(GnmaxTest, NoChangeOfAVoteCostsMoreThanTheCharge) {
  for (const double order : kOrders) {
    for (const double beta : {1e-4, .05, 1.0, 20.0}) {
      for (std::size_t support_size = 2; support_size <= 4; ++support_size) {
        const auto mechanism = Make(3, order, beta);
        double largest = 0;
        for (std::size_t code = 0; code < support_size * support_size; ++code) {
          const std::size_t second = code % support_size;
          const std::size_t third = code / support_size;
          const Pmf one = LawOfVotes(*mechanism, support_size, {0, second, third});
          for (std::size_t to = 1; to < support_size; ++to) {
            const Pmf other = LawOfVotes(*mechanism, support_size, {to, second, third});
            largest = std::max(largest, SymmetricRenyiDivergence(one, other, Order(order)));
          }
        }
        EXPECT_LE(largest, beta);
        if (beta < .1) {
          EXPECT_GT(largest, .2 * beta) << "the search is too weak";
        }
      }
    }
  }
}

Policy WithOtherPart(const Policy& policy, const Policy& other) {
  return [=](const History& history) {
    const SimulatedPredictions changed = other(history);
    return WithPart(policy, 0, [&](const PartPredictions&, int half) {
      const auto pmf = changed.view().member(0, half);
      return Pmf(pmf.begin(), pmf.end());
    })(history);
  };
}

// One part of one, which always votes for the same of two tokens: the worst pair of worlds.
Policy AlwaysVotesFor(std::size_t token) {
  return [=](const History&) { return VotesOf(2, {token}); };
}

TEST(GnmaxTest, WholeTranscriptsStayWithinTheBudgetAtEveryOrder) {
  const auto random = base::MakeSeededRandomSource(2);
  for (const double value : kOrders) {
    const double budget = std::exp(-6 + 4 * NextUnit(*random));
    const auto law_under = [&](const Answerer& answerer, std::size_t num_parts, std::size_t steps,
                               const Policy& policy) {
      return TranscriptLaw({answerer, policy, num_parts, budget, steps, 2}).law();
    };
    for (const std::size_t num_parts : {2, 4}) {
      const auto mechanism = Make(num_parts, value, budget / 3.5);
      const Answerer answerer = PlainAnswerer(*mechanism);
      const Policy policy = RandomPolicy(*random, 3, num_parts, 4);
      const Policy other = WithOtherPart(policy, RandomPolicy(*random, 3, 1, 4));
      const Pmf law = law_under(answerer, num_parts, 2, policy);
      for (const Policy& neighbour : {WithNullPart(policy, 0), other}) {
        EXPECT_LE(SymmetricRenyiDivergence(law, law_under(answerer, num_parts, 2, neighbour),
                                           Order(value)),
                  budget);
      }
    }
    // Small costs add up: a budget for 8 tokens of 10.
    const auto mechanism = Make(1, value, budget / 8.5);
    const Pmf one = law_under(PlainAnswerer(*mechanism), 1, 5, AlwaysVotesFor(0));
    const Pmf other = law_under(PlainAnswerer(*mechanism), 1, 5, AlwaysVotesFor(1));
    EXPECT_LE(SymmetricRenyiDivergence(one, other, Order(value)), budget);
    const auto statement = mechanism->Statement(FixedNats::RoundDown(budget));
    EXPECT_THAT(statement.proof, testing::HasSubstr("at most 8 tokens"));
    for (const auto& bound : statement.further_bounds) {
      EXPECT_LE(SymmetricRenyiDivergence(one, other, bound.order), bound.rdp)
          << bound.order.ToString();
    }
  }
}

// The search sees a charge that is half as high as it must be.
TEST(GnmaxTest, HalvedChargesAreFound) {
  for (const double value : kOrders) {
    const double budget = .05;
    const auto mechanism = Make(1, value, budget / 5.5);  // 11 tokens for half the price
    const auto law_under = [&](std::size_t token) {
      const Policy policy = AlwaysVotesFor(token);
      return TranscriptLaw({HalfPriceAnswerer(*mechanism), policy, 1, budget, 5, 2}).law();
    };
    EXPECT_GT(SymmetricRenyiDivergence(law_under(0), law_under(1), Order(value)), budget);
  }
}

TEST(GnmaxTest, RefusesWhatItCannotCharge) {
  MechanismOptions options = Options(2, 2, .1);
  options.order = RenyiOrder::Infinity();
  EXPECT_THAT(Gnmax::Create(options),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("order inf")));
  EXPECT_THAT(
      Gnmax::Create(Options(2, 2, kLawRounding)),
      base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("rounding alone")));
  for (const auto counted : {ChargeAccounting::kPublished, ChargeAccounting::kLeaveOneOut}) {
    MechanismOptions looks_at_votes = Options(2, 2, .1);
    looks_at_votes.accounting = counted;
    EXPECT_THAT(Gnmax::Create(looks_at_votes),
                base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("research")));
  }
  const SimulatedPredictions wide = VotesOf(kLargestVotedSupport + 1, {0});
  EXPECT_THAT(Make(1, 2, .1)->Propose(wide.view(), std::vector<FixedNats>(1), {}),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("2^20")));
}

}  // namespace gnmax_test
}  // namespace submix::mechanism
