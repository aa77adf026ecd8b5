#include "submix/mechanism/baselines/public_model.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "submix/accounting/promise.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/testing/transcripts.h"

namespace submix::mechanism {
namespace public_model_test {

using accounting::FixedNats;

std::unique_ptr<Mechanism> Make(int num_parts) {
  MechanismOptions options;
  options.name = kPublicModelName;
  options.num_parts = num_parts;
  options.target_leakage = .1;
  return *PublicModel::Create(options);
}

TEST(PublicModelTest, AnswersForNothingWhateverTheMembersSay) {
  const auto mechanism = Make(2);
  EXPECT_TRUE(mechanism->is_sound());
  EXPECT_TRUE(mechanism->is_private());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Pmf public_pmf{.5, .3, .2 - 1e-18, 1e-18};
  for (const Pmf& member : {Pmf{.1, .1, .1, .7}, Pmf{nan, nan, nan, nan}}) {
    const SimulatedPredictions predictions(public_pmf, {member, public_pmf});
    for (const bool paid : {false, true}) {
      NoRandomness no_randomness;
      auto proposal = *mechanism->Propose(predictions.view(), std::vector<FixedNats>(2), {3, 4});
      EXPECT_EQ(proposal->charges(), std::vector<FixedNats>(2));
      const auto mixture = std::move(*proposal).Mix({paid, paid}, no_randomness);
      EXPECT_EQ(mixture.release_id(), (base::ReleaseId{3, 4}));
      const Pmf law = LawOf(mixture, 4);
      for (std::size_t x = 0; x < 4; ++x) EXPECT_NEAR(law[x], public_pmf[x], 1e-13);
      EXPECT_GT(law[3], 0);
    }
  }
}

TEST(PublicModelTest, StatesZeroForUsersToo) {
  const auto statement = Make(2)->Statement(FixedNats::RoundDown(2));
  EXPECT_EQ(statement.epsilon, FixedNats());
  const accounting::Promise promise = accounting::PromiseOf(statement);
  EXPECT_EQ(promise.sentence,
            "Whatever anybody asks, all answers together are (0, 1e-06)-differentially private for "
            "one user's text.");
  EXPECT_THAT(promise.columns, testing::ElementsAre("user", "part"));
  EXPECT_THAT(promise.rows[1].cells, testing::Each("0 nats at order 2, both ways"));
}

TEST(PublicModelTest, RefusesWhatDoesNotFit) {
  const SimulatedPredictions bad({.5, .6}, {{.5, .5}});
  EXPECT_THAT(Make(1)->Propose(bad.view(), std::vector<FixedNats>(1), {}),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("public")));
  EXPECT_THAT(Make(2)->Propose(bad.view(), std::vector<FixedNats>(2), {}),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("2 parts")));
}

}  // namespace public_model_test
}  // namespace submix::mechanism
