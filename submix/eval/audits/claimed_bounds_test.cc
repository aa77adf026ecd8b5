#include "submix/eval/audits/claimed_bounds.h"

#include <cmath>
#include <limits>

#include "submix/base/testing/status_matchers.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::eval {
namespace claimed_bounds_test {

using accounting::PrivacyUnit;
using divergence::RenyiOrder;

mechanism::MechanismOptions OptionsOf(const std::string& name) {
  mechanism::MechanismOptions options;
  options.name = name;
  options.num_parts = 8;
  options.target_leakage = 2.0 / 1024;
  return options;
}

ClaimedBounds Claim(const std::string& name, PrivacyUnit unit) {
  return ClaimOf(*mechanism::MakeAnyMechanism(OptionsOf(name)).value(), 2, unit, 1e-5).value();
}

ClaimedBounds ClaimOfBound(RenyiOrder order, double rdp) {
  ClaimedBounds claim;
  claim.bounds = {{order, rdp}};
  return claim;
}

TEST(ClaimedBoundsTest, PureDifferentialPrivacyAllowsItsFamiliarRegion) {
  const ClaimedBounds claim = ClaimOfBound(RenyiOrder::Infinity(), std::log(3.0));
  EXPECT_NEAR(MostTruePositives(claim, 0.1), 0.3, 1e-12);
  // 1 - (1 - x) / 3 beyond the corner at 1/4.
  EXPECT_NEAR(MostTruePositives(claim, 0.4), 0.8, 1e-12);
  EXPECT_NEAR(MostAdvantage(claim), 0.5, 1e-3);  // (e^eps - 1) / (e^eps + 1)
  EXPECT_NEAR(MostArea(claim), 0.75, 1e-3);      // e^eps / (e^eps + 1)
  EXPECT_GE(MostArea(claim), 0.75);
}

TEST(ClaimedBoundsTest, AtAnOrderTheTwoCoinsAreExactlyThatFarApart) {
  for (const double rdp : {0.1, 2.0}) {
    const ClaimedBounds claim = ClaimOfBound(RenyiOrder::Two(), rdp);
    for (const double at : {1e-3, 0.01, 0.1, 0.5}) {
      const double most = MostTruePositives(claim, at);
      const double p[] = {most, 1 - most};
      const double q[] = {at, 1 - at};
      EXPECT_NEAR(divergence::SymmetricRenyiDivergence(p, q, RenyiOrder::Two()), rdp, 1e-9);
    }
    EXPECT_NEAR(MostTruePositives(claim, 0), 0, 1e-15);
    EXPECT_EQ(MostTruePositives(claim, 1), 1);
  }
}

TEST(ClaimedBoundsTest, AnInfiniteBoundAllowsEverything) {
  const ClaimedBounds claim =
      ClaimOfBound(RenyiOrder::Two(), std::numeric_limits<double>::infinity());
  for (const double at : {0.0, 0.1, 1.0}) EXPECT_EQ(MostTruePositives(claim, at), 1);
}

TEST(ClaimedBoundsTest, AFixedNumberOfAnswersClaimsAllItsOrdersAtOnce) {
  const ClaimedBounds dclip = Claim("dclip", PrivacyUnit::kPart);
  const ClaimedBounds filtered = Claim("filtered-submix", PrivacyUnit::kPart);
  EXPECT_GT(dclip.bounds.size(), 10u);
  EXPECT_EQ(filtered.bounds.size(), 1u);
  EXPECT_NEAR(filtered.bounds[0].rdp, 2, 1e-12);
  EXPECT_LT(dclip.epsilon, filtered.epsilon);
  EXPECT_LT(MostTruePositives(dclip, 1e-3), MostTruePositives(filtered, 1e-3));
}

TEST(ClaimedBoundsTest, AUserIsHiddenLessThanAPartAndOnlyByWhatIsProven) {
  const ClaimedBounds user = Claim("filtered-submix", PrivacyUnit::kUserKey);
  EXPECT_NEAR(user.bounds[0].order.value(), 4.0 / 3, 1e-12);  // Theorem 5
  EXPECT_NEAR(user.bounds[0].rdp, 6, 1e-9);
  EXPECT_THAT(user.labels, testing::HasSubstr("user key"));
  const ClaimedBounds research = Claim("pmixed", PrivacyUnit::kUserKey);
  EXPECT_TRUE(research.bounds.empty());
  EXPECT_TRUE(std::isinf(research.epsilon));
  EXPECT_FALSE(Claim("pmixed", PrivacyUnit::kPart).bounds.empty());
}

TEST(ClaimedBoundsTest, WhatIsNotPrivateClaimsNothing) {
  const ClaimedBounds claim = Claim("ensemble", PrivacyUnit::kPart);
  EXPECT_TRUE(claim.bounds.empty());
  EXPECT_EQ(MostTruePositives(claim, 0), 1);
  EXPECT_NEAR(MostArea(claim), 1, 1e-12);
}

}  // namespace claimed_bounds_test
}  // namespace submix::eval
