#include "submix/mechanism/baselines/ball_charge.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace ball_charge_test {

using divergence::RenyiOrder;

constexpr double kOrders[] = {1, 1.5, 2, 8, std::numeric_limits<double>::infinity()};

// Computed with 30 digits.
TEST(BallChargeTest, TheNumbersOfTheProofs) {
  const RenyiOrder order = RenyiOrder::Two();
  EXPECT_NEAR(BallCharge({.5, 8, 1}, order), .0092332204366, 1e-12);
  EXPECT_NEAR(BallCharge({.5, 64, 1}, order), .000165999810411, 1e-13);
  EXPECT_NEAR(BallReplaceCharge({.5, 8, 1}, order), .0372726714693, 1e-12);
  EXPECT_NEAR(BallReplaceCharge({.5, 64, 1}, order), .000701730304895, 1e-13);
}

// Powers beyond the range of a double; computed with 60 digits.
TEST(BallChargeTest, HighOrdersOfLargeBallsDoNotOverflow) {
  const RenyiOrder order = *RenyiOrder::Create(512);
  EXPECT_NEAR(BallCharge({1.5, 8, 1}, order), .856596347851775628, 1e-12);
  EXPECT_NEAR(BallCharge({4, 8, 1}, order), 3.88144664884121019, 1e-12);
  EXPECT_NEAR(BallCharge({8, 80, .5}, order), 3.62316643258730020, 1e-12);
  EXPECT_NEAR(BallCharge({8, 1, 1}, order), 7.99999934362745030, 1e-12);
  EXPECT_NEAR(BallReplaceCharge({4, 8, 1}, order), 5.92289871135671513, 1e-12);
  EXPECT_NEAR(BallReplaceCharge({8, 1, 1}, order), 15.9999999997797746, 1e-12);
  EXPECT_NEAR(BallCharge({6, 32, 1}, *RenyiOrder::Create(128)), 5.92555747917592755, 1e-12);
}

// The two ways to compute it meet: the charge rises with the radius, where they change over too.
TEST(BallChargeTest, NeverFallsWithTheRadius) {
  for (const double order : {64.0, 100.5, 512.0}) {
    double before = 0;
    for (double radius = 0; radius <= 8; radius += 0x1p-10) {
      const double charge = BallCharge({radius, 3, .9}, *RenyiOrder::Create(order));
      ASSERT_GE(charge, before * (1 - 1e-13)) << order << ' ' << radius;
      before = charge;
    }
  }
}

// A law of the ball: within [e^-b, e^b] of the public one, many tokens at the ends.
Pmf InBall(base::RandomSource& random, const Pmf& public_pmf, double radius) {
  for (int attempt = 0;; ++attempt) {
    Pmf law = public_pmf;
    double sum = 0;
    for (double& p : law) {
      p *= std::exp(radius * (random.NextBelow(2) == 0 ? 1 - 2 * NextUnit(random)
                                                       : (random.NextBelow(2) == 0 ? 1 : -1)));
      sum += p;
    }
    bool fits = true;
    for (std::size_t x = 0; x < law.size(); ++x) {
      law[x] /= sum;
      fits = fits && std::abs(std::log(law[x] / public_pmf[x])) <= radius;
    }
    if (fits) return law;
    if (attempt > 50) return public_pmf;
  }
}

TEST(BallChargeTest, NoEnsembleOfTheBallCostsMore) {
  const auto random = base::MakeSeededRandomSource(1);
  double largest = 0;
  double largest_replace = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const int k = 1 + static_cast<int>(random->NextBelow(5));
    const double q = random->NextBelow(2) == 0 ? 1 : NextUnit(*random);
    const double radius = 2 * NextUnit(*random);
    const RenyiOrder order = *RenyiOrder::Create(kOrders[random->NextBelow(5)]);
    const Pmf public_pmf = RandomPmf(*random, 2 + random->NextBelow(3), 4);
    Pmf rest = public_pmf;
    for (double& p : rest) p *= 1 - q;
    for (int other = 1; other < k; ++other) {
      const Pmf law = InBall(*random, public_pmf, radius);
      for (std::size_t x = 0; x < rest.size(); ++x) rest[x] += q / k * law[x];
    }
    const auto with = [&](const Pmf& part) {
      Pmf law = rest;
      for (std::size_t x = 0; x < rest.size(); ++x) law[x] += q / k * part[x];
      return law;
    };
    const Pmf part = with(InBall(*random, public_pmf, radius));
    const double null = SymmetricRenyiDivergence(part, with(public_pmf), order);
    const double replaced =
        SymmetricRenyiDivergence(part, with(InBall(*random, public_pmf, radius)), order);
    const double charge = BallCharge({radius, k, q}, order);
    const double replace_charge = BallReplaceCharge({radius, k, q}, order);
    ASSERT_LE(null, charge * (1 + 1e-9) + 1e-14);
    ASSERT_LE(replaced, replace_charge * (1 + 1e-9) + 1e-14);
    largest = std::max(largest, null / charge);
    largest_replace = std::max(largest_replace, replaced / replace_charge);
  }
  EXPECT_GT(largest, .9) << "the search is too weak";
  EXPECT_GT(largest_replace, .8);
}

TEST(LargestBallRadiusTest, FitsTheLimitAndHardlyMisses) {
  for (const double order : kOrders) {
    for (const int k : {1, 8, 80}) {
      for (const double q : {.05, .9, 1.0}) {
        const RenyiOrder renyi = *RenyiOrder::Create(order);
        const double radius = LargestBallRadius(k, q, renyi, 2.0 / 1024);
        EXPECT_LE(BallCharge({radius, k, q}, renyi), 2.0 / 1024);
        if (radius < 7.9) {
          EXPECT_GT(BallCharge({radius * (1 + 1e-9), k, q}, renyi), 2.0 / 1024);
        }
      }
    }
  }
  EXPECT_EQ(LargestBallRadius(8, 1, RenyiOrder::Two(), 0), 0);
  EXPECT_GT(LargestBallRadius(8, 1, RenyiOrder::Two(), 8000), 7.9);
}

}  // namespace ball_charge_test
}  // namespace submix::mechanism
