#include "submix/eval/audits/epsilon_audit.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/eval/measuring/repeatable_draws.h"

namespace submix::eval {
namespace epsilon_audit_test {

using divergence::RenyiOrder;

TEST(EpsilonAuditTest, RatesProveTheKnownFormulas) {
  EXPECT_NEAR(ProvenEpsilon(0.5, 0.1, 0), std::log(5.0), 1e-14);
  EXPECT_NEAR(ProvenEpsilon(0.5, 0.1, 0.05), std::log(4.5), 1e-14);
  // The complements say more: .98 of the one is missed by .01 of the other.
  EXPECT_NEAR(ProvenEpsilon(0.99, 0.02, 0), std::log(98.0), 1e-12);
  EXPECT_EQ(ProvenEpsilon(0.1, 0.2, 0), 0);
  EXPECT_EQ(ProvenRdp(0.1, 0.2, RenyiOrder::Two()), 0);
  // log(p^2 / q + (1-p)^2 / (1-q)) of (.5, .1).
  EXPECT_NEAR(ProvenRdp(0.5, 0.1, RenyiOrder::Two()), std::log(0.25 / 0.1 + 0.25 / 0.9), 1e-14);
  EXPECT_NEAR(ProvenRdp(0.5, 0.1, RenyiOrder::Infinity()), std::log(5.0), 1e-14);
}

// Randomised response: bit 1 with probability p or 1 - p.
std::vector<double> Bits(double p, int count, base::RandomSource& random) {
  std::vector<double> bits;
  for (int i = 0; i < count; ++i) bits.push_back(DrawUnit(random) < p ? 1 : 0);
  return bits;
}

TEST(EpsilonAuditTest, RandomisedResponseIsFoundFromBelow) {
  constexpr double kP = 0.75;
  const double epsilon = std::log(3.0);
  const std::vector<double> p = {kP, 1 - kP};
  const std::vector<double> q = {1 - kP, kP};
  const double rdp = divergence::RenyiDivergence(p, q, RenyiOrder::Two());
  const auto random = base::MakeSeededRandomSource(7);
  const AuditOptions options{.error = 1e-4};
  const auto with = Bits(kP, 100000, *random);
  const auto without = Bits(1 - kP, 100000, *random);
  for (const bool swapped : {false, true}) {
    const EpsilonAudit audit =
        AuditEpsilon(swapped ? without : with, swapped ? with : without, options);
    EXPECT_LE(audit.epsilon, epsilon);
    EXPECT_GT(audit.epsilon, 0.95 * epsilon);
    EXPECT_LE(audit.rdp, rdp);
    EXPECT_GT(audit.rdp, 0.9 * rdp);
  }
}

// The error is the share of audits that claim too much: the truth is 0 here, and the half that
// chooses is not the half that proves.
TEST(EpsilonAuditTest, EqualWorldsAreRarelyToldApart) {
  const auto random = base::MakeSeededRandomSource(11);
  int wrong = 0;
  for (int audit = 0; audit < 200; ++audit) {
    std::vector<double> with;
    std::vector<double> without;
    for (int i = 0; i < 400; ++i) {
      with.push_back(DrawUnit(*random));
      without.push_back(DrawUnit(*random));
    }
    wrong += AuditEpsilon(with, without, {.error = 0.05}).rdp > 0 ? 1 : 0;
  }
  EXPECT_LE(wrong, 20);  // 10 are allowed on average: 21 or more happen once in 1,000 seeds
}

TEST(EpsilonAuditTest, WhatNeverHappensWithoutTheTextIsBoundedByTheNumberOfTrials) {
  const std::vector<double> with(2000, std::numeric_limits<double>::infinity());
  const std::vector<double> without(2000, -1.0);
  const EpsilonAudit audit = AuditEpsilon(with, without, {.error = 0.05});
  // Of 1,000 and 1,000: p >= .025^(1/1000), q <= 1 - .025^(1/1000).
  const double p = std::pow(0.025, 1e-3);
  EXPECT_NEAR(audit.epsilon, std::log((p - 1e-6) / (1 - p)), 1e-9);
}

}  // namespace epsilon_audit_test
}  // namespace submix::eval
