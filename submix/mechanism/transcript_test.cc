// The transcript filter (Theorem 1) with filtered-submix: every transcript of short
// conversations.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/filtered_submix.h"
#include "submix/mechanism/testing/transcripts.h"

namespace submix::mechanism {
namespace transcript_test {

using accounting::ChargeRule;
using accounting::FixedNats;
using accounting::IndividualFilter;
using divergence::RenyiDivergence;
using divergence::RenyiOrder;

NoRandomness no_randomness;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class Filter {
  kSkip,          // a part that cannot pay sits this token out
  kDrop,          // … and all later ones
  kGlobalStop,    // broken: one part that cannot pay ends the ensemble, unpaid
  kPayAfterwards  // broken: a part takes part while anything is left, whatever the charge
};

std::vector<bool> Pay(Filter filter, const std::vector<FixedNats>& charges, Accounts& accounts) {
  switch (filter) {
    case Filter::kSkip:
      return ChargeAccounts(ChargeRule::kPerPart, charges, accounts);
    case Filter::kGlobalStop:
      return ChargeAccounts(ChargeRule::kAllOrStop, charges, accounts);
    case Filter::kDrop: {
      std::vector<bool> paid = ChargeAccounts(ChargeRule::kPerPart, charges, accounts);
      for (std::size_t i = 0; i < paid.size(); ++i) {
        if (!paid[i]) accounts[i].Empty();
      }
      return paid;
    }
    case Filter::kPayAfterwards: {
      std::vector<bool> paid;
      for (std::size_t i = 0; i < accounts.size(); ++i) {
        paid.push_back(accounts[i].remaining() > FixedNats());
        accounts[i] = IndividualFilter(accounts[i].budget(), accounts[i].spent() + charges[i]);
      }
      return paid;
    }
  }
  return {};
}

// `knows_remaining`: the mixing weight may fit what is left (Theorem 1's best rule).
Answerer FilteredAnswerer(const Mechanism& mechanism, Filter filter, bool knows_remaining) {
  return [=, &mechanism](const PartPredictions& predictions,
                         const std::vector<FixedNats>& remaining, Accounts accounts) {
    const std::vector<FixedNats> plenty(remaining.size(), FixedNats::RoundDown(8000));
    auto proposal = *mechanism.Propose(predictions, knows_remaining ? remaining : plenty, {});
    const std::vector<bool> paid = Pay(filter, proposal->charges(), accounts);
    const PrivateMixture mixture = std::move(*proposal).Mix(paid, no_randomness);
    std::vector<Branch> branches;
    branches.push_back({1, std::move(accounts), LawOf(mixture, predictions.support_size())});
    return branches;
  };
}

std::unique_ptr<Mechanism> Make(int num_parts, double order, double max_mixing_weight,
                                double target_leakage = 1000) {
  MechanismOptions options;
  options.num_parts = num_parts;
  options.order = *RenyiOrder::Create(order);
  options.target_leakage = target_leakage;
  options.max_mixing_weight = max_mixing_weight;
  return *FilteredSubmix::Create(options);
}

// Temperature 1, and 0.5 after token 1.
Pmf Sharpened(double first, bool is_cold) {
  if (!is_cold) return {first, 1 - first};
  const double a = first * first;
  const double b = (1 - first) * (1 - first);
  return {a / (a + b), b / (a + b)};
}

SimulatedPredictions SettingOne(const History& history) {
  const bool is_cold = !history.empty() && history.back() == 1;
  return SimulatedPredictions(Sharpened(.6, is_cold),
                              {Sharpened(is_cold ? .2 : .9, is_cold), Sharpened(.3, is_cold)});
}

TEST(TranscriptTest, ChargesOfSettingOneAreThoseOfTheProofs) {
  const auto mechanism = Make(2, 2, .5);
  const std::vector<FixedNats> remaining(2, FixedNats::RoundDown(100));
  const auto expect = [&](const History& history, double first, double second) {
    const SimulatedPredictions predictions = SettingOne(history);
    const auto proposal = *mechanism->Propose(predictions.view(), remaining, {});
    EXPECT_NEAR(proposal->charges()[0].ToNatsRoundedUp(), first, 1e-9);
    EXPECT_NEAR(proposal->charges()[1].ToNatsRoundedUp(), second, 1e-9);
  };
  expect({}, .031748698314580, .026433257068156);
  expect({1}, .132160788262080, .096746492424718);
}

struct SettingOneCase {
  Filter filter;
  double order, budget;
  std::array<std::array<double, 2>, 2> divergences;  // [null part][forward, backward]
};

TEST(TranscriptTest, DivergencesOfSettingOneAreThoseOfTheProofs) {
  const Policy policy = SettingOne;
  for (const SettingOneCase& expected : std::vector<SettingOneCase>{
           {Filter::kDrop,
            2,
            .1,
            {{{.047484300099332, .038403080093293}, {.045556070225281, .053304336224829}}}},
           {Filter::kDrop,
            1.5,
            .1,
            {{{.038966443787591, .031988637510694}, {.065216786825296, .061543294320985}}}},
           {Filter::kDrop,
            8,
            .2,
            {{{.071368003504889, .083004598708050}, {.097170536705928, .068515475150513}}}},
           {Filter::kSkip,
            2,
            .1,
            {{{.060833746719475, .057822983592690}, {.065187991764078, .064720656344381}}}},
           {Filter::kSkip,
            1.5,
            .1,
            {{{.049745603773987, .046307193904308}, {.068392013475686, .064047069069359}}}},
           {Filter::kSkip,
            8,
            .2,
            {{{.071368003504889, .083004598708050}, {.097170536705928, .068515475150513}}}}}) {
    const auto mechanism = Make(2, expected.order, .5);
    const RenyiOrder order = *RenyiOrder::Create(expected.order);
    const Answerer answerer = FilteredAnswerer(*mechanism, expected.filter, false);
    const auto law_under = [&](const Policy& world) {
      return TranscriptLaw({answerer, world, 2, expected.budget, 4}).law();
    };
    const Pmf law = law_under(policy);
    ASSERT_EQ(law.size(), 16u);
    for (std::size_t part = 0; part < 2; ++part) {
      const Pmf neighbour = law_under(WithNullPart(policy, part));
      EXPECT_NEAR(RenyiDivergence(law, neighbour, order), expected.divergences[part][0], 1e-9);
      EXPECT_NEAR(RenyiDivergence(neighbour, law, order), expected.divergences[part][1], 1e-9);
    }
    if (expected.order == 2 && expected.filter == Filter::kDrop) {
      EXPECT_NEAR(law[0], .1296, 1e-9);
      EXPECT_NEAR(law[15], .011652253072371, 1e-9);
      EXPECT_NEAR(law[5], .066461538461538, 1e-9);
    }
  }
}

struct Falsification {
  int worlds = 0;
  int violations = 0;
  double largest = 0;  // divergence over budget
};

// Random worlds of 1 to 3 parts, five answers each; the larger direction against the budget.
Falsification Falsify(Filter filter, bool knows_remaining, std::uint64_t seed, int worlds) {
  constexpr std::size_t kLength = 5;
  const auto random = base::MakeSeededRandomSource(seed);
  Falsification result;
  for (int i = 0; i < worlds; ++i) {
    const std::size_t num_parts = 1 + random->NextBelow(3);
    const Policy policy = RandomPolicy(*random, 2, num_parts, kLength);
    const double budget = std::pow(10, -1.5 + NextUnit(*random));
    for (const double value : {1.0, 1.5, 2.0, 8.0, kInfinity}) {
      const auto mechanism = Make(static_cast<int>(num_parts), value, .3 + .6 * NextUnit(*random),
                                  knows_remaining ? budget / 2 : 1000);
      const Answerer answerer = FilteredAnswerer(*mechanism, filter, knows_remaining);
      const auto law_under = [&](const Policy& world) {
        return TranscriptLaw({answerer, world, num_parts, budget, kLength}).law();
      };
      const Pmf law = law_under(policy);
      const Pmf neighbour = law_under(WithNullPart(policy, 0));
      const double divergence =
          divergence::SymmetricRenyiDivergence(law, neighbour, *RenyiOrder::Create(value));
      ++result.worlds;
      result.violations += divergence <= budget * (1 + 1e-9) ? 0 : 1;
      result.largest = std::max(result.largest, divergence / budget);
    }
  }
  return result;
}

TEST(TranscriptTest, SoundFiltersAreNeverFalsified) {
  for (const Filter filter : {Filter::kSkip, Filter::kDrop}) {
    for (const bool knows_remaining : {false, true}) {
      const Falsification result = Falsify(filter, knows_remaining, 1, 25);
      EXPECT_EQ(result.violations, 0) << "largest divergence / budget: " << result.largest;
      EXPECT_GT(result.largest, knows_remaining ? .8 : .3) << "the search is too weak";
    }
  }
}

// The larger direction of a null part's divergence over the budget.
double ShareOfBudget(const Mechanism& mechanism, const Policy& policy, std::size_t num_parts,
                     double budget, std::size_t steps, std::size_t sequences, RenyiOrder order) {
  const auto law_by = [&](const Answerer& answerer) {
    return TranscriptLaw({answerer, policy, num_parts, budget, steps, sequences}).law();
  };
  return SymmetricRenyiDivergence(law_by(PlainAnswerer(mechanism)),
                                  law_by(PlainAnswerer(mechanism, 0)), order) /
         budget;
}

// Two sequences at a time, both proposed with the budgets of the step's start.
TEST(TranscriptTest, InterleavedSequencesStayWithinTheBudget) {
  const auto random = base::MakeSeededRandomSource(4);
  double largest = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t num_parts = 2 + random->NextBelow(3);
    const std::size_t support_size = 2 + random->NextBelow(3);
    const double value = std::vector<double>{1, 2, 8, kInfinity}[random->NextBelow(4)];
    const double budget = std::pow(10, -1.5 + NextUnit(*random));
    const auto mechanism = Make(static_cast<int>(num_parts), value, .3 + .7 * NextUnit(*random),
                                budget * (.2 + .7 * NextUnit(*random)));
    const Policy policy = RandomPolicy(*random, support_size, num_parts, 4);
    const double share =
        ShareOfBudget(*mechanism, policy, num_parts, budget, 2, 2, *RenyiOrder::Create(value));
    ASSERT_LE(share, 1 + 1e-9);
    largest = std::max(largest, share);
  }
  EXPECT_GT(largest, .5) << "the search is too weak";
}

// Tokens of a few units of the integers: there rounding moves a probability by a third or doubles
// it. The charges are of the rounded laws, so nothing is lost.
TEST(TranscriptTest, ACoarseGridIsPaidFor) {
  const auto random = base::MakeSeededRandomSource(5);
  double largest = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t num_parts = 1 + random->NextBelow(3);
    constexpr std::size_t kSteps = 3;
    std::vector<SimulatedPredictions> nodes;
    const auto thin = [&] {
      const double unit = static_cast<double>(1 + random->NextBelow(12)) * 0x1p-49;
      return Pmf{1 - unit, unit};
    };
    for (int node = 0; node < (1 << kSteps) - 1; ++node) {
      std::vector<Pmf> members;
      for (std::size_t part = 0; part < num_parts; ++part) {
        members.push_back(random->NextBelow(3) == 0 ? RandomPmf(*random, 2, 40) : thin());
      }
      nodes.emplace_back(thin(), members);
    }
    const Policy policy = [&](const History& history) {
      std::size_t index = 0;
      for (const std::size_t token : history) index = index * 2 + token + 1;
      return nodes[index];
    };
    const double value = std::vector<double>{1, 2, 8, kInfinity}[random->NextBelow(4)];
    const double budget = std::pow(10, -1 + 2 * NextUnit(*random));
    const auto mechanism = Make(static_cast<int>(num_parts), value, .3 + .6 * NextUnit(*random),
                                budget * (.3 + .6 * NextUnit(*random)));
    const double share =
        ShareOfBudget(*mechanism, policy, num_parts, budget, kSteps, 1, *RenyiOrder::Create(value));
    ASSERT_LE(share, 1 + 1e-9);
    largest = std::max(largest, share);
  }
  EXPECT_GT(largest, .5) << "the search is too weak";
}

TEST(TranscriptTest, AGlobalStopIsFalsified) {
  const Falsification result = Falsify(Filter::kGlobalStop, false, 2, 60);
  EXPECT_GT(result.violations, 0);
  EXPECT_GT(result.largest, 1.5);
}

TEST(TranscriptTest, PayingAfterwardsIsFalsified) {
  const Falsification result = Falsify(Filter::kPayAfterwards, false, 3, 10);
  EXPECT_GT(result.violations, result.worlds / 4);
  EXPECT_GT(result.largest, 10);
}

}  // namespace transcript_test
}  // namespace submix::mechanism
