#include "submix/mechanism/research/ensemble_mean.h"

#include <vector>

#include <gtest/gtest.h>

#include "submix/accounting/promise.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/research/any_mechanism.h"
#include "submix/mechanism/testing/transcripts.h"

namespace submix::mechanism {
namespace ensemble_mean_test {

using accounting::FixedNats;

std::unique_ptr<Mechanism> Make(int num_parts) {
  MechanismOptions options;
  options.name = kEnsembleMeanName;
  options.num_parts = num_parts;
  options.target_leakage = .1;
  return *MakeAnyMechanism(options);
}

TEST(EnsembleMeanTest, SaysThatItIsNotPrivate) {
  const auto mechanism = Make(2);
  EXPECT_FALSE(mechanism->is_sound());
  EXPECT_FALSE(mechanism->is_private());
  const auto promise = accounting::PromiseOf(mechanism->Statement(FixedNats::RoundDown(2)));
  EXPECT_EQ(promise.sentence, "Nothing is promised to anybody: the answers are not private.");
  EXPECT_THAT(promise.rows[0].cells[0], testing::StartsWith("nothing follows"));
  EXPECT_THAT(promise.rows[1].cells[1], testing::StartsWith("inf nats"));
  EXPECT_THAT(promise.rows[6].cells[1], testing::StartsWith("NOT proven: not private"));
}

TEST(EnsembleMeanTest, NoBudgetPaysForIt) {
  const auto mechanism = Make(2);
  const Pmf public_pmf{.5, .3, .2};
  const SimulatedPredictions predictions(public_pmf, {{.1, .1, .8}, {.1, .1, .8}});
  Accounts accounts(2, accounting::IndividualFilter(FixedNats::RoundDown(8191)));
  const auto branches =
      PlainAnswerer(*mechanism)(predictions.view(), std::vector<FixedNats>(2), accounts);
  ASSERT_EQ(branches.size(), 1u);
  for (std::size_t x = 0; x < 3; ++x) EXPECT_NEAR(branches[0].law[x], public_pmf[x], 1e-13);
  for (const auto& account : branches[0].accounts) EXPECT_EQ(account.spent(), FixedNats());
}

TEST(EnsembleMeanTest, TheOperatorSeesTheMeanOfAllMembers) {
  const auto mechanism = Make(2);
  const SimulatedPredictions predictions({.5, .3, .2},
                                         {{.1, .1, .8}, {.3, .1, .6}, {1, 0, 0}, {.6, .4, 0}}, 2);
  NoRandomness no_randomness;
  auto proposal = *mechanism->Propose(predictions.view(), std::vector<FixedNats>(2), {});
  const std::vector<bool> paid =
      OperatorView::Participants(*mechanism, std::vector<bool>(2, false));
  const Pmf law = LawOf(std::move(*proposal).Mix(paid, no_randomness), 3);
  EXPECT_NEAR(law[0], .5, 1e-12);
  EXPECT_NEAR(law[1], .15, 1e-12);
  EXPECT_NEAR(law[2], .35, 1e-12);
}

TEST(EnsembleMeanTest, WithAPrivateMechanismTheOperatorTakesOnlyWhoPaid) {
  MechanismOptions options;
  options.num_parts = 2;
  options.target_leakage = .1;
  const auto mechanism = *MakeAnyMechanism(options);
  EXPECT_EQ(OperatorView::Participants(*mechanism, {true, false}),
            (std::vector<bool>{true, false}));
}

}  // namespace ensemble_mean_test
}  // namespace submix::mechanism
