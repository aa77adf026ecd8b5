#include "submix/mechanism/filtered_submix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/operator_view.h"
#include "submix/mechanism/submix_charge.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace filtered_submix_test {

using accounting::FixedNats;
using divergence::RenyiOrder;
using Weights = std::vector<std::uint64_t>;

NoRandomness no_randomness;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::unique_ptr<Mechanism> Make(int num_parts, double order, double target_leakage,
                                double max_mixing_weight = .8) {
  MechanismOptions options;
  options.num_parts = num_parts;
  options.order = *RenyiOrder::Create(order);
  options.target_leakage = target_leakage;
  options.max_mixing_weight = max_mixing_weight;
  return *FilteredSubmix::Create(options);
}

std::vector<FixedNats> Remaining(int num_parts, double nats) {
  return std::vector<FixedNats>(static_cast<std::size_t>(num_parts), FixedNats::RoundDown(nats));
}

struct Answer {
  std::vector<FixedNats> charges;
  PrivateMixture mixture;
};

Answer Ask(const Mechanism& mechanism, const PartPredictions& predictions,
           const std::vector<FixedNats>& remaining, const std::vector<bool>& paid) {
  auto proposal = *mechanism.Propose(predictions, remaining, {7, 9});
  std::vector<FixedNats> charges = proposal->charges();
  return {std::move(charges), std::move(*proposal).Mix(paid, no_randomness)};
}

std::vector<bool> Everyone(int num_parts) {
  return std::vector<bool>(static_cast<std::size_t>(num_parts), true);
}

// The integers, from the probabilities: exact, since k W < 2^53 for fewer than 32 parts.
Weights WeightsOf(const PrivateMixture& mixture, std::size_t support_size, int num_parts) {
  Weights weights;
  for (std::size_t x = 0; x < support_size; ++x) {
    weights.push_back(static_cast<std::uint64_t>(std::llround(
        OperatorView::Probability(mixture, x) * num_parts * static_cast<double>(kTotalWeight))));
  }
  return weights;
}

struct World {
  Pmf public_pmf;
  std::vector<Pmf> members;
};

World RandomWorld(base::RandomSource& random, std::size_t support_size, int num_parts) {
  World world{RandomPmf(random, support_size, 4), {}};
  for (int i = 0; i < num_parts; ++i) world.members.push_back(RandomPmf(random, support_size, 6));
  return world;
}

TEST(FilteredSubmixTest, SaysThatItIsSound) {
  const auto mechanism = Make(8, 2, .1);
  EXPECT_EQ(mechanism->name(), "filtered-submix");
  EXPECT_TRUE(mechanism->is_sound());
  EXPECT_EQ(mechanism->charge_rule(), accounting::ChargeRule::kPerPart);
  EXPECT_EQ(mechanism->halves(), 1);
  const auto statement = mechanism->Statement(FixedNats::RoundDown(2));
  EXPECT_TRUE(statement.proven);
  EXPECT_TRUE(statement.worst_case);
  EXPECT_EQ(statement.unit, accounting::PrivacyUnit::kPart);
  EXPECT_EQ(statement.adjacency, accounting::Adjacency::kNull);
  EXPECT_EQ(statement.epsilon, FixedNats::RoundDown(2));
  EXPECT_EQ(statement.mechanism, "filtered-submix");
}

// Theorem 4: what is sampled is what is accounted, to the last integer. For every rest of the
// ensemble that the mechanism itself could form, the exact divergence of the integer laws stays
// within the charge.
TEST(FilteredSubmixTest, IntegerLawsKeepTheCharge) {
  constexpr double kExcess = 3e-15;
  const auto random = base::MakeSeededRandomSource(1);
  for (int i = 0; i < 3000; ++i) {
    const std::size_t support_size = 1 + random->NextBelow(5);
    const int num_parts = 1 + static_cast<int>(random->NextBelow(4));
    World world = RandomWorld(*random, support_size, num_parts);
    // Others at a vertex: everything they may move on one token.
    if (random->NextBelow(2) == 0) {
      const std::size_t vertex = random->NextBelow(support_size);
      for (std::size_t j = 1; j < world.members.size(); ++j) {
        world.members[j].assign(support_size, 0);
        world.members[j][vertex] = 1;
      }
    }
    const SimulatedPredictions predictions(world.public_pmf, world.members);
    const auto remaining = Remaining(num_parts, 4000);
    std::vector<bool> without = Everyone(num_parts);
    without[0] = false;
    const double max_mixing_weight = .1 + .9 * NextUnit(*random);
    const double target_leakage = std::pow(10, 3 - 6 * NextUnit(*random));
    for (const double order : {1.5, 2.0, 8.0, kInfinity}) {
      const auto mechanism = Make(num_parts, order, target_leakage, max_mixing_weight);
      const Answer with_part = Ask(*mechanism, predictions.view(), remaining, Everyone(num_parts));
      const Answer without_part = Ask(*mechanism, predictions.view(), remaining, without);
      const double divergence = divergence::SymmetricRenyiDivergence(
          WeightsOf(with_part.mixture, support_size, num_parts),
          WeightsOf(without_part.mixture, support_size, num_parts), *RenyiOrder::Create(order));
      const double charge = with_part.charges[0].ToNatsRoundedUp();
      ASSERT_LE(divergence, charge + kExcess) << "case " << i << ", order " << order;
      ASSERT_LE(charge, target_leakage);
      EXPECT_EQ(without_part.mixture.charges()[0], FixedNats());
    }
  }
}

TEST(FilteredSubmixTest, ChargesAtMostTheTargetAndTheRemainingBudget) {
  const auto random = base::MakeSeededRandomSource(2);
  for (const std::size_t support_size : {3u, 64u, 65u, 3000u}) {
    for (const double order : {1.0, 2.0, 4.0, kInfinity}) {
      const World world = RandomWorld(*random, support_size, 8);
      const SimulatedPredictions predictions(world.public_pmf, world.members);
      std::vector<FixedNats> remaining = Remaining(8, 2);
      remaining[1] = FixedNats::RoundDown(1e-5);
      remaining[2] = FixedNats();
      remaining[3] = FixedNats::FromUnits(1);
      const Answer answer = Ask(*Make(8, order, .001), predictions.view(), remaining, Everyone(8));
      for (std::size_t i = 0; i < 8; ++i) {
        const FixedNats limit = std::min(remaining[i], FixedNats::RoundDown(.001));
        EXPECT_LE(answer.charges[i], limit);
        // What the limit allows is used. (The small support's exact charge is below the bound that
        // the scale is solved for; at order infinity one unit of weight on a token of 2^-48 is too
        // much already.)
        if (support_size > 64 && limit.units() > 1 && order < kInfinity) {
          EXPECT_GT(answer.charges[i].ToNatsRoundedUp(), .97 * limit.ToNatsRoundedUp())
              << "part " << i << ", order " << order << ", " << support_size << " tokens";
        }
      }
      EXPECT_EQ(answer.charges[2], FixedNats());
    }
  }
}

// privacy_checklist.md 1: nothing of another part enters.
TEST(FilteredSubmixTest, ChargeAndWeightsOfAPartDoNotDependOnOtherParts) {
  const auto random = base::MakeSeededRandomSource(3);
  std::vector<bool> only_first(4, false);
  only_first[0] = true;
  for (const std::size_t support_size : {2u, 40u, 1000u}) {
    for (const double order : {1.5, 2.0, 3.0, kInfinity}) {
      World world = RandomWorld(*random, support_size, 4);
      const auto mechanism = Make(4, order, .01);
      const SimulatedPredictions before(world.public_pmf, world.members);
      const Answer first = Ask(*mechanism, before.view(), Remaining(4, 1), only_first);
      for (std::size_t j = 1; j < 4; ++j) world.members[j] = RandomPmf(*random, support_size, 20);
      world.members[2][0] = std::numeric_limits<double>::quiet_NaN();
      const SimulatedPredictions after(world.public_pmf, world.members);
      std::vector<FixedNats> remaining = Remaining(4, .005);
      remaining[0] = FixedNats::RoundDown(1);
      const Answer second = Ask(*mechanism, after.view(), remaining, only_first);
      EXPECT_EQ(first.charges[0], second.charges[0]);
      EXPECT_EQ(WeightsOf(first.mixture, support_size, 4),
                WeightsOf(second.mixture, support_size, 4));
    }
  }
}

TEST(FilteredSubmixTest, AMemberThatIsNoPmfMakesItsPartThePublicModel) {
  const auto random = base::MakeSeededRandomSource(4);
  const World world = RandomWorld(*random, 700, 3);
  const auto mechanism = Make(3, 2, .01);
  const SimulatedPredictions all(world.public_pmf, world.members);
  const Answer without =
      Ask(*mechanism, all.view(), Remaining(3, 1), std::vector<bool>{true, false, true});
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -1.0, .5}) {
    World broken = world;
    broken.members[1][600] = bad;
    const SimulatedPredictions predictions(broken.public_pmf, broken.members);
    const Answer answer = Ask(*mechanism, predictions.view(), Remaining(3, 1), Everyone(3));
    EXPECT_EQ(answer.charges[1], FixedNats());
    EXPECT_EQ(WeightsOf(answer.mixture, 700, 3), WeightsOf(without.mixture, 700, 3));
  }
}

TEST(FilteredSubmixTest, AveragesTheTwoHalvesOfAPart) {
  const Pmf public_pmf{.5, .5};
  const SimulatedPredictions halves(public_pmf, {{.875, .125}, {.625, .375}}, 2);
  const SimulatedPredictions whole(public_pmf, {{.75, .25}});
  const auto mechanism = Make(1, 2, .01);
  const Answer a = Ask(*mechanism, halves.view(), Remaining(1, 1), Everyone(1));
  const Answer b = Ask(*mechanism, whole.view(), Remaining(1, 1), Everyone(1));
  EXPECT_EQ(a.charges, b.charges);
  EXPECT_EQ(WeightsOf(a.mixture, 2, 1), WeightsOf(b.mixture, 2, 1));
}

TEST(FilteredSubmixTest, IsFreeWhereMembersAgreeWithThePublicModel) {
  const Pmf pmf{.5, .3, .2};
  const SimulatedPredictions predictions(pmf, {pmf, pmf});
  const Answer answer = Ask(*Make(2, 2, .01), predictions.view(), Remaining(2, 1), Everyone(2));
  for (const FixedNats charge : answer.charges) EXPECT_LE(charge.ToNatsRoundedUp(), 2e-15);
}

// A user of a public list whose records are emptied leaves a part that says the public law. It is
// null to the last bit, whether it pays or not (docs/privacy.md, Public keys).
TEST(FilteredSubmixTest, APartThatSaysThePublicLawIsNull) {
  const auto random = base::MakeSeededRandomSource(9);
  for (const std::size_t support_size : {3u, 64u, 65u, 1000u}) {
    World world = RandomWorld(*random, support_size, 4);
    world.members[2] = world.public_pmf;
    const SimulatedPredictions predictions(world.public_pmf, world.members);
    const auto mechanism = Make(4, 4, .01);
    const Answer paid = Ask(*mechanism, predictions.view(), Remaining(4, 2), Everyone(4));
    std::vector<bool> others = Everyone(4);
    others[2] = false;
    const Answer unpaid = Ask(*mechanism, predictions.view(), Remaining(4, 2), others);
    EXPECT_EQ(WeightsOf(paid.mixture, support_size, 4), WeightsOf(unpaid.mixture, support_size, 4));
  }
}

TEST(FilteredSubmixTest, WorksOnOneToken) {
  const SimulatedPredictions predictions({1}, {{1}, {1}});
  const Answer answer = Ask(*Make(2, 2, .01), predictions.view(), Remaining(2, 1), Everyone(2));
  EXPECT_EQ(answer.charges, std::vector<FixedNats>(2));
  EXPECT_EQ(OperatorView::Probability(answer.mixture, 0), 1);
}

TEST(FilteredSubmixTest, StaysPayableOnDisjointSupports) {
  const SimulatedPredictions predictions({1, 0, 0}, {{0, 1, 0}, {0, 0, 1}});
  for (const double order : {1.0, 2.0, 8.0, kInfinity}) {
    const Answer answer =
        Ask(*Make(2, order, .01, 1), predictions.view(), Remaining(2, 1), Everyone(2));
    for (const FixedNats charge : answer.charges) EXPECT_LE(charge.ToNatsRoundedUp(), .01);
    for (std::size_t x = 0; x < 3; ++x) EXPECT_GT(OperatorView::Probability(answer.mixture, x), 0);
  }
}

TEST(FilteredSubmixTest, MixesExactlyThePartsThatPaid) {
  const auto random = base::MakeSeededRandomSource(5);
  const World world = RandomWorld(*random, 30, 3);
  const SimulatedPredictions predictions(world.public_pmf, world.members);
  const auto mechanism = Make(3, 2, .1);
  const auto weights = [&](const std::vector<bool>& paid) {
    return WeightsOf(Ask(*mechanism, predictions.view(), Remaining(3, 1), paid).mixture, 30, 3);
  };
  const Weights nobody = weights({false, false, false});
  Weights public_weights(30);
  const auto top = std::max_element(world.public_pmf.begin(), world.public_pmf.end());
  QuantiseLaw(world.public_pmf, static_cast<std::size_t>(top - world.public_pmf.begin()),
              public_weights);
  for (std::size_t x = 0; x < 30; ++x) ASSERT_EQ(nobody[x], 3 * public_weights[x]);
  const Weights all = weights({true, true, true});
  const Weights first = weights({true, false, false});
  const Weights others = weights({false, true, true});
  for (std::size_t x = 0; x < 30; ++x) ASSERT_EQ(all[x] + nobody[x], first[x] + others[x]);
  EXPECT_EQ(std::accumulate(all.begin(), all.end(), std::uint64_t{0}),
            std::uint64_t{3} * kTotalWeight);

  const Answer answer = Ask(*mechanism, predictions.view(), Remaining(3, 1), {true, false, true});
  EXPECT_EQ(answer.mixture.release_id(), (base::ReleaseId{7, 9}));
  EXPECT_EQ(answer.mixture.charges(),
            (std::vector<FixedNats>{answer.charges[0], FixedNats(), answer.charges[2]}));
}

TEST(FilteredSubmixTest, DrawsFromTheMixture) {
  const SimulatedPredictions predictions({.5, .3, .2}, {{.2, .2, .6}, {.1, .8, .1}});
  const Answer answer = Ask(*Make(2, 2, .1), predictions.view(), Remaining(2, 1), Everyone(2));
  const auto random = base::MakeSeededRandomSource(6);
  constexpr int kDraws = 100000;
  std::array<int, 3> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts[OperatorView::Draw(answer.mixture, *random)];
  double chi_square = 0;
  for (std::size_t x = 0; x < 3; ++x) {
    const double expected = kDraws * OperatorView::Probability(answer.mixture, x);
    chi_square += std::pow(counts[x] - expected, 2) / expected;
  }
  // 2 degrees of freedom: P(chi^2 > 18.4) = 1e-4, and the seed is fixed.
  EXPECT_LT(chi_square, 18.4);
}

TEST(FilteredSubmixTest, RefusesPredictionsThatDoNotFit) {
  const auto mechanism = Make(2, 2, .1);
  const auto refused = [&](const SimulatedPredictions& predictions, int num_remaining) {
    EXPECT_THAT(mechanism->Propose(predictions.view(), Remaining(num_remaining, 1), {}),
                base::StatusIs(base::StatusCode::kInvalidArgument, testing::_));
  };
  const Pmf pmf{.5, .5};
  refused({pmf, {pmf, pmf}}, 3);
  refused({pmf, {pmf}}, 2);
  refused({pmf, {pmf, pmf, pmf, pmf, pmf, pmf}, 3}, 2);
  refused({pmf, {pmf, {1}}}, 2);
  refused({{.5, .6}, {pmf, pmf}}, 2);
  refused({{}, {{}, {}}}, 2);
}

}  // namespace filtered_submix_test
}  // namespace submix::mechanism
