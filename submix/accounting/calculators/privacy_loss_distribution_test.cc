#include "submix/accounting/calculators/privacy_loss_distribution.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace submix::accounting {
namespace privacy_loss_distribution_test {

using Distribution = PrivacyLossDistribution;
constexpr auto kLower = Distribution::Bound::kLower;
constexpr auto kUpper = Distribution::Bound::kUpper;

// Phi(high) - Phi(low), from the tail that keeps its digits.
double NormalMass(double low, double high) {
  const double root = std::sqrt(2.0);
  if (low > 0) return (std::erfc(low / root) - std::erfc(high / root)) / 2;
  return (std::erfc(-high / root) - std::erfc(-low / root)) / 2;
}

// N(mu, 1) against N(0, 1): the loss is normal with mean +-mu^2/2 and standard deviation mu.
PrivacyLoss GaussianLoss(double mu) {
  const auto continuous = [mu](double low, double high) {
    return LossMass{NormalMass(low / mu - mu / 2, high / mu - mu / 2),
                    NormalMass(low / mu + mu / 2, high / mu + mu / 2)};
  };
  return {{}, continuous, mu * mu / 2 + 13 * mu};
}

double GaussianDelta(double mu, double epsilon) {
  const auto cdf = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  return cdf(mu / 2 - epsilon / mu) - std::exp(epsilon) * cdf(-mu / 2 - epsilon / mu);
}

TEST(PrivacyLossDistributionTest, BracketsComposedGaussians) {
  for (const std::int64_t count : {1, 2, 7, 100, 1024}) {
    const double mu = 1.2 / std::sqrt(static_cast<double>(count));
    const double step = mu / 6;
    const Distribution lower = Distribution(GaussianLoss(mu), step, kLower).Power(count);
    const Distribution upper = Distribution(GaussianLoss(mu), step, kUpper).Power(count);
    for (const double epsilon : {-2.0, 0.0, 0.3, 1.0, 4.0, 8.0, 11.0}) {
      const double truth = GaussianDelta(1.2, epsilon);  // down to 1e-17
      EXPECT_LE(lower.DeltaForEpsilon(epsilon), truth * (1 + 1e-6)) << count << " " << epsilon;
      EXPECT_GE(upper.DeltaForEpsilon(epsilon), truth * (1 - 1e-6)) << count << " " << epsilon;
      // A step of a sixth of a standard deviation: epsilon is off by less than 2 %.
      if (epsilon > 8) continue;
      const double slack = 0.02 * std::abs(epsilon) + 0.02;
      EXPECT_GE(lower.DeltaForEpsilon(epsilon - slack), truth) << count << " " << epsilon;
      EXPECT_LE(upper.DeltaForEpsilon(epsilon + slack), truth) << count << " " << epsilon;
    }
  }
}

TEST(PrivacyLossDistributionTest, TheBoundsAreOfSecondOrderInTheStep) {
  constexpr double kMu = 0.1;
  double last_width = 1;
  for (const double step : {kMu / 2, kMu / 4, kMu / 8}) {
    const auto delta = [&](Distribution::Bound bound) {
      return Distribution(GaussianLoss(kMu), step, bound).Power(100).DeltaForEpsilon(2);
    };
    const double width = delta(kUpper) - delta(kLower);
    EXPECT_LT(width, last_width / 3);
    last_width = width;
  }
}

// Three points, as of DP decoding: the composition is trinomial.
TEST(PrivacyLossDistributionTest, AtomsComposeExactly) {
  constexpr double kStep = 0.7;
  const double rest = 1 / (2 + std::exp(kStep));
  const double top = rest * std::exp(kStep);
  const PrivacyLoss loss = {{{kStep, top}, {0, rest}, {-kStep, rest}}, nullptr, kStep};
  constexpr int kCount = 12;
  for (const double epsilon : {0.0, 0.5, 3.0, 7.9, 8.3}) {
    double truth = 0;
    for (int up = 0; up <= kCount; ++up) {
      for (int down = 0; up + down <= kCount; ++down) {
        const double ways = std::tgamma(kCount + 1) / std::tgamma(up + 1) / std::tgamma(down + 1) /
                            std::tgamma(kCount - up - down + 1);
        const double p = ways * std::pow(top, up) * std::pow(rest, kCount - up);
        truth += p * std::max(0.0, 1 - std::exp(epsilon - (up - down) * kStep));
      }
    }
    for (const auto bound : {kLower, kUpper}) {
      EXPECT_NEAR(Distribution(loss, kStep, bound).Power(kCount).DeltaForEpsilon(epsilon), truth,
                  1e-12 * truth);
      EXPECT_NEAR(Distribution(loss, kStep / 5, bound).Power(kCount).DeltaForEpsilon(epsilon),
                  truth, 1e-12 * truth);
    }
  }
}

TEST(PrivacyLossDistributionTest, TailsThatAreLeftOutGoTheSafeWay) {
  PrivacyLoss loss = GaussianLoss(1);
  loss.reach = 2;  // too short on purpose
  for (const double epsilon : {0.0, 1.0, 3.0}) {
    const double truth = GaussianDelta(1, epsilon);
    EXPECT_LT(Distribution(loss, 0.1, kLower).DeltaForEpsilon(epsilon), truth);
    EXPECT_GT(Distribution(loss, 0.1, kUpper).DeltaForEpsilon(epsilon), truth);
  }
  // What has no bound stays whatever epsilon is.
  EXPECT_GT(Distribution(loss, 0.1, kUpper).DeltaForEpsilon(1e6), 0.01);
  EXPECT_EQ(Distribution(loss, 0.1, kLower).DeltaForEpsilon(1e6), 0);
}

}  // namespace privacy_loss_distribution_test
}  // namespace submix::accounting
