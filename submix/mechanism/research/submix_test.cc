#include "submix/mechanism/research/submix.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/operator_view.h"
#include "submix/mechanism/research/any_mechanism.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace submix_test {

using accounting::FixedNats;
using divergence::RenyiDivergence;
using divergence::RenyiOrder;

NoRandomness no_randomness;

// Algorithm 2, line by line, in plain doubles.
struct Reference {
  Reference(const Pmf& public_pmf, const std::vector<Pmf>& members, double beta, RenyiOrder order) {
    const std::size_t num_parts = members.size() / 2;
    Pmf mean_sum(public_pmf.size(), 0);
    std::vector<Pmf> means;
    double weight_sum = 0;
    for (std::size_t i = 0; i < num_parts; ++i) {
      const Pmf& a = members[2 * i];
      const Pmf& b = members[2 * i + 1];
      means.push_back(MixPmfs(a, b, .5));
      for (std::size_t x = 0; x < mean_sum.size(); ++x) mean_sum[x] += means[i][x];
      const auto cost = [&](double weight) {
        return RenyiDivergence(MixPmfs(public_pmf, a, weight), MixPmfs(public_pmf, b, weight),
                               order);
      };
      double low = 0;
      double high = 1;
      if (cost(1) <= beta) low = 1;
      while (low < 1 && high - low > 1e-12) {
        const double middle = (low + high) / 2;
        (cost(middle) <= beta ? low : high) = middle;
      }
      weights.push_back(low);
      weight_sum += low;
    }
    const auto mixed = [&](const Pmf& sum, double weight, double parts) {
      Pmf mean = sum;
      for (double& p : mean) p /= parts;
      return MixPmfs(public_pmf, mean, weight);
    };
    const double k = static_cast<double>(num_parts);
    mixture = mixed(mean_sum, weight_sum / k, k);
    for (std::size_t i = 0; i < num_parts; ++i) {
      Pmf others = mean_sum;
      for (std::size_t x = 0; x < others.size(); ++x) others[x] -= means[i][x];
      const Pmf without =
          num_parts == 1 ? public_pmf : mixed(others, (weight_sum - weights[i]) / (k - 1), k - 1);
      charges.push_back(divergence::SymmetricRenyiDivergence(mixture, without, order));
    }
  }

  std::vector<double> weights;
  Pmf mixture;
  std::vector<double> charges;
};

std::unique_ptr<Mechanism> Make(std::size_t num_parts, double beta,
                                RenyiOrder order = RenyiOrder::Two()) {
  MechanismOptions options;
  options.name = kSubmixName;
  options.num_parts = static_cast<int>(num_parts);
  options.target_leakage = beta;
  options.order = order;
  return *MakeAnyMechanism(options);
}

std::unique_ptr<Proposal> Propose(const Mechanism& mechanism, const Pmf& public_pmf,
                                  const std::vector<Pmf>& members) {
  const SimulatedPredictions predictions(public_pmf, members, 2);
  const std::vector<FixedNats> remaining(members.size() / 2, FixedNats::RoundDown(1));
  return *mechanism.Propose(predictions.view(), remaining, {1, 2});
}

void ExpectAlgorithm2(const Pmf& public_pmf, const std::vector<Pmf>& members, double beta,
                      RenyiOrder order) {
  const Reference expected(public_pmf, members, beta, order);
  auto proposal = Propose(*Make(members.size() / 2, beta, order), public_pmf, members);
  for (std::size_t i = 0; i < expected.charges.size(); ++i) {
    const double charge = proposal->charges()[i].ToNatsRoundedUp();
    EXPECT_NEAR(charge, expected.charges[i], 1e-9 + 1e-4 * expected.charges[i]);
  }
  const auto mixture =
      std::move(*proposal).Mix(std::vector<bool>(expected.charges.size(), true), no_randomness);
  for (std::size_t x = 0; x < public_pmf.size(); ++x) {
    EXPECT_NEAR(OperatorView::Probability(mixture, x), expected.mixture[x], 1e-5);
  }
}

TEST(SubmixTest, SaysThatItIsResearch) {
  const auto mechanism = Make(2, .1);
  EXPECT_EQ(mechanism->name(), "submix");
  EXPECT_FALSE(mechanism->is_sound());
  EXPECT_EQ(mechanism->halves(), 2);
  EXPECT_EQ(mechanism->charge_rule(), accounting::ChargeRule::kAllOrStop);
  const auto statement = mechanism->Statement(FixedNats::RoundDown(2));
  EXPECT_FALSE(statement.proven);
  EXPECT_FALSE(statement.worst_case);
  EXPECT_THAT(statement.proof, testing::HasSubstr("research"));
}

TEST(SubmixTest, IsAlgorithm2) {
  const auto random = base::MakeSeededRandomSource(1);
  for (int i = 0; i < 60; ++i) {
    const std::size_t support_size = 2 + random->NextBelow(30);
    const std::size_t num_parts = 1 + random->NextBelow(5);
    std::vector<Pmf> members;
    for (std::size_t row = 0; row < 2 * num_parts; ++row) {
      members.push_back(RandomPmf(*random, support_size, 3));
    }
    const double beta = std::pow(10, -3 * NextUnit(*random));
    for (const double order : {1.0, 1.5, 2.0, 4.0}) {
      ExpectAlgorithm2(RandomPmf(*random, support_size, 2), members, beta,
                       *RenyiOrder::Create(order));
    }
  }
}

// Where the official code departs from the paper: this is the paper's side.

TEST(SubmixTest, LeavesAPartOutOfTheMeanOverParts) {  // not over the vocabulary
  const Pmf public_pmf{.5, .3, .2};
  const Pmf same{.6, .3, .1};
  const Pmf other{.1, .1, .8};
  auto proposal = Propose(*Make(3, 1), public_pmf, {same, same, same, same, other, other});
  // Without the third part the mean is `same`; with it, it is far from it.
  const Pmf mean = MixPmfs(same, other, 1.0 / 3);
  const double expected = divergence::SymmetricRenyiDivergence(mean, same, RenyiOrder::Two());
  EXPECT_GT(expected, .1);
  EXPECT_NEAR(proposal->charges()[2].ToNatsRoundedUp(), expected, 1e-9);
}

TEST(SubmixTest, ChargesBothDirectionsOfTheEnsembleAgainstItsNeighbour) {
  // A token that only part 0 likes: the ensemble against its neighbour is the dear direction, and
  // has nothing to do with the ensemble against the part's own mix.
  const Pmf public_pmf{1 - 1e-6, 1e-6};
  const Pmf secret{.5, .5};
  std::vector<Pmf> members{secret, secret};
  members.resize(8, public_pmf);
  auto proposal = Propose(*Make(4, 1), public_pmf, members);
  const Pmf mixture = MixPmfs(public_pmf, secret, .25);
  const double forward = RenyiDivergence(mixture, public_pmf, RenyiOrder::Two());
  const double backward = RenyiDivergence(public_pmf, mixture, RenyiOrder::Two());
  EXPECT_GT(forward, 9);
  EXPECT_LT(backward, .2);
  EXPECT_NEAR(proposal->charges()[0].ToNatsRoundedUp(), forward, 1e-8);
}

TEST(SubmixTest, PaysInFullForWhatBothHalvesMemorised) {
  // Equation 2 sees no difference between the halves, so the weight is 1; the charge tells.
  const Pmf public_pmf{1 - 1e-9, 1e-9};
  const Pmf secret{1e-9, 1 - 1e-9};
  auto proposal = Propose(*Make(1, 1e-6), public_pmf, {secret, secret});
  const double expected = RenyiDivergence(secret, public_pmf, RenyiOrder::Two());
  EXPECT_GT(expected, 13);
  EXPECT_NEAR(proposal->charges()[0].ToNatsRoundedUp(), expected, 1e-4);
  const auto mixture = std::move(*proposal).Mix({true}, no_randomness);
  EXPECT_NEAR(OperatorView::Probability(mixture, 1), 1, 1e-8);
}

TEST(SubmixTest, ReachesAWeightOfExactlyOne) {  // not a power of 0.93
  const Pmf public_pmf{.5, .5};
  auto proposal = Propose(*Make(1, .1), public_pmf, {{.8, .2}, {.78, .22}});
  const auto mixture = std::move(*proposal).Mix({true}, no_randomness);
  EXPECT_NEAR(OperatorView::Probability(mixture, 0), .79, 1e-12);
}

TEST(SubmixTest, AHalfThatIsNoPmfMakesItsPartThePublicModel) {  // NaN must not pass
  const Pmf public_pmf{.5, .3, .2};
  const Pmf good{.2, .6, .2};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto probability = [&](const std::vector<Pmf>& members) {
    auto proposal = Propose(*Make(2, .1), public_pmf, members);
    return OperatorView::Probability(std::move(*proposal).Mix({true, true}, no_randomness), 1);
  };
  EXPECT_EQ(probability({good, good, {nan, .5, .5}, good}),
            probability({good, good, public_pmf, public_pmf}));
}

TEST(SubmixTest, StaysFiniteOnDisjointHalves) {
  const Pmf public_pmf{.5, .5};
  auto proposal = Propose(*Make(1, .01), public_pmf, {{1, 0}, {0, 1}});
  // The halves agree nowhere, so little of them is mixed; their mean is the public model.
  EXPECT_LT(proposal->charges()[0].ToNatsRoundedUp(), 1e-9);
}

TEST(SubmixTest, AnswersFromThePublicModelUnlessEverybodyPaid) {
  const Pmf public_pmf{.5, .3, .2};
  const Pmf member{.2, .2, .6};
  const auto mechanism = Make(2, .1);
  const std::vector<Pmf> members(4, member);
  for (const std::vector<bool>& paid :
       {std::vector<bool>{false, false}, {true, false}, {false, true}}) {
    auto proposal = Propose(*mechanism, public_pmf, members);
    const auto mixture = std::move(*proposal).Mix(paid, no_randomness);
    for (std::size_t x = 0; x < 3; ++x) {
      EXPECT_NEAR(OperatorView::Probability(mixture, x), public_pmf[x], 1e-13);
    }
  }
  auto proposal = Propose(*mechanism, public_pmf, members);
  const std::vector<FixedNats> charges = proposal->charges();
  const auto mixture = std::move(*proposal).Mix({true, true}, no_randomness);
  EXPECT_NEAR(OperatorView::Probability(mixture, 2), .6, 1e-13);
  EXPECT_EQ(mixture.charges(), charges);
  EXPECT_EQ(mixture.release_id(), (base::ReleaseId{1, 2}));
}

TEST(SubmixTest, WorksOnOneToken) {
  auto proposal = Propose(*Make(2, .1), {1}, std::vector<Pmf>(4, Pmf{1}));
  EXPECT_EQ(proposal->charges(), std::vector<FixedNats>(2));
}

}  // namespace submix_test
}  // namespace submix::mechanism
