#include "submix/mechanism/baselines/pmixed.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/baselines/ball_laws.h"
#include "submix/mechanism/baselines/testing/secret_subsets.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {
namespace pmixed_test {

using accounting::FixedNats;
using divergence::RenyiOrder;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A secret subset drawn anew for every token leaves the mean of all parts and some public model.
TEST(PMixedTest, TheMarginalLawIsTheMeanOfAllParts) {
  const auto random = base::MakeSeededRandomSource(1);
  for (const double p : {.1, .5, 1.0}) {
    const auto mechanism =
        *PMixed::Create(PMixedOptions(ChargeAccounting::kWorstCase, 3, 2, p, .05));
    std::vector<Pmf> members;
    for (int part = 0; part < 3; ++part) members.push_back(RandomPmf(*random, 4, 5));
    const SimulatedPredictions predictions(RandomPmf(*random, 4, 1), members);
    const Pmf law =
        MarginalLaw(Subsets(*mechanism, p, predictions.view(), Plenty(3),
                            Accounts(3, accounting::IndividualFilter(FixedNats::RoundDown(100)))));
    const BallLaws laws = *BallLaws::Create(predictions.view());
    const double q = 1 - std::pow(1 - p, 3);
    for (std::size_t x = 0; x < 4; ++x) {
      double mean = 0;
      for (int part = 0; part < 3; ++part) {
        mean += static_cast<double>(laws.MaxBallLaw(part, mechanism->radius())[x]) / 3;
      }
      const double expected =
          ((1 - q) * static_cast<double>(laws.public_law()[x]) + q * mean) / kTotalWeight;
      EXPECT_NEAR(law[x], expected, 1e-12);
    }
  }
}

TEST(PMixedTest, MaxBallLawsAreInTheBallExactly) {
  const auto random = base::MakeSeededRandomSource(2);
  int moved = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const std::size_t support_size = 2 + random->NextBelow(300);
    const SimulatedPredictions predictions(RandomPmf(*random, support_size, 2),
                                           {RandomPmf(*random, support_size, 2)});
    const BallLaws laws = *BallLaws::Create(predictions.view());
    const double radius = std::exp(-6 + 7 * NextUnit(*random));
    const LawWeights law = laws.MaxBallLaw(0, radius);
    std::uint64_t sum = 0;
    for (std::size_t x = 0; x < support_size; ++x) {
      const double ratio = static_cast<double>(law[x]) / static_cast<double>(laws.public_law()[x]);
      ASSERT_LE(std::abs(std::log(ratio)), radius * (1 + 1e-12));
      sum += law[x];
    }
    ASSERT_EQ(sum, static_cast<std::uint64_t>(kTotalWeight));
    moved += law == laws.public_law() ? 0 : 1;
  }
  EXPECT_GT(moved, 400);
  // A token on which the part agrees exactly does not hold the others back.
  const SimulatedPredictions agreeing({.5, .25, .25}, {{.5, .3, .2}});
  const BallLaws some = *BallLaws::Create(agreeing.view());
  EXPECT_NEAR(static_cast<double>(some.MaxBallLaw(0, 1)[0]) / kTotalWeight, .5, 1e-9);
  EXPECT_NEAR(static_cast<double>(some.MaxBallLaw(0, 1)[1]) / kTotalWeight, .3, 1e-9);
  const SimulatedPredictions broken({.5, .5}, {{std::nan(""), .5}});
  const BallLaws laws = *BallLaws::Create(broken.view());
  EXPECT_EQ(laws.MaxBallLaw(0, 1), laws.public_law());
}

// Every transcript, with every subset: within the budget at part and at user level.
TEST(PMixedTest, WorstCaseTranscriptsStayWithinTheBudget) {
  const auto random = base::MakeSeededRandomSource(4);
  double largest = 0;
  for (int trial = 0; trial < 12; ++trial) {
    for (const double value : {1.0, 2.0, 8.0, kInfinity}) {
      const std::size_t num_parts = 1 + random->NextBelow(3);
      const double p = trial % 3 == 0 ? 1 : .2 + .7 * NextUnit(*random);
      const double budget = std::exp(-3 + 3 * NextUnit(*random));
      // Three parts have eight subsets a token.
      const std::size_t length = num_parts == 3 ? 3 : 4;
      // One token more than the budget pays for.
      const auto mechanism =
          *PMixed::Create(PMixedOptions(ChargeAccounting::kWorstCase, static_cast<int>(num_parts),
                                        value, p, budget / static_cast<double>(length - 1)));
      ASSERT_TRUE(mechanism->is_sound());
      const Answerer answerer = SubsetAnswerer(*mechanism, p);
      const Policy policy = RandomPolicy(*random, 2, num_parts, length);
      const Policy other = RandomPolicy(*random, 2, 1, length);
      const Policy replaced = [&](const History& history) {
        const SimulatedPredictions changed = other(history);
        return WithPart(policy, 0, [&](const PartPredictions&, int) {
          const auto pmf = changed.view().member(0, 0);
          return Pmf(pmf.begin(), pmf.end());
        })(history);
      };
      const auto law_under = [&](const Policy& any) {
        return TranscriptLaw({answerer, any, num_parts, budget, length}).law();
      };
      const RenyiOrder order = *RenyiOrder::Create(value);
      const Pmf law = law_under(policy);
      const double part_level =
          SymmetricRenyiDivergence(law, law_under(WithNullPart(policy, 0)), order);
      ASSERT_LE(part_level, budget);
      largest = std::max(largest, part_level / budget);
      const auto statement = mechanism->Statement(FixedNats::RoundDown(budget));
      ASSERT_LE(SymmetricRenyiDivergence(law, law_under(replaced), order),
                statement.user_level_bounds[0].rdp);
    }
  }
  EXPECT_GT(largest, .5) << "the search is too weak";
}

TEST(PMixedTest, EveryOptionThatIsAllowedHasACharge) {
  for (const double order : {1.0, 2.0, 64.0, 512.0, 65536.0, kInfinity}) {
    for (const int num_parts : {1, 2, 32, 1000}) {
      for (const double p : {.01, .5, 1.0}) {
        for (const double target : {1e-6, .002, 1.0, 20.0, 8000.0}) {
          const auto mechanism = PMixed::Create(
              PMixedOptions(ChargeAccounting::kWorstCase, num_parts, order, p, target));
          SUBMIX_ASSERT_OK(mechanism);
          const auto statement = (*mechanism)->Statement(FixedNats::RoundDown(8000));
          EXPECT_GE(statement.user_level_bounds[0].rdp, 0);
          if (target == 20 && num_parts == 1 && p == 1) {
            EXPECT_GT((*mechanism)->radius(), 7.9);
          }
        }
      }
    }
  }
}

TEST(PMixedTest, NamesWhatIsWrong) {
  const auto refused = [](const MechanismOptions& options, const char* word) {
    EXPECT_THAT(PMixed::Create(options),
                base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr(word)));
  };
  refused(PMixedOptions(ChargeAccounting::kWorstCase, 8, 2, 0, .01), "sampling probability");
  refused(PMixedOptions(ChargeAccounting::kDefault, 8, 2, .5, .01), "research");
  refused(PMixedOptions(ChargeAccounting::kLeaveOneOut, 8, 2, .5, .01), "research");
}

}  // namespace pmixed_test
}  // namespace submix::mechanism
