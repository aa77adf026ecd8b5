#include "submix/divergence/mixing_weight.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "submix/divergence/renyi_divergence.h"

namespace submix::divergence {
namespace mixing_weight_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kEvaluations = 16;
// Relative, after so many: of powers, of divergences, of any monotone cost.
constexpr double kPowerTolerance = 1e-6;
constexpr double kDivergenceTolerance = 1e-4;
const double kMonotoneFactor = std::exp(40.0 / 32);

TEST(LargestFeasibleTest, FindsTheEndOfSmoothCosts) {
  for (const double root : {1e-12, 1e-3, 0.01, 0.2, 0.5, 0.77, 0.999}) {
    for (const double power : {1.0, 1.5, 2.0, 3.0, 18.0}) {
      const auto cost = [&](double x) { return 3 * std::pow(x / root, power); };
      const double weight = LargestFeasible(1, 3, kEvaluations, cost);
      EXPECT_LE(weight, root * (1 + 1e-14));
      EXPECT_GT(weight, root * (1 - kPowerTolerance)) << root << " " << power;
    }
  }
}

TEST(LargestFeasibleTest, FindsTheEndOfRealDivergencesAlongAMixture) {
  std::mt19937_64 random(4);
  std::exponential_distribution<double> exponential;
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<double> p(50), q(50), mixed(50);
    double sum_p = 0, sum_q = 0;
    for (int x = 0; x < 50; ++x) {
      sum_p += p[x] = std::pow(exponential(random), 4);
      sum_q += q[x] = exponential(random);
    }
    for (const char* order : {"1", "2", "18", "inf"}) {
      const auto cost = [&](double weight) {
        for (int x = 0; x < 50; ++x) {
          mixed[x] = weight * p[x] / sum_p + (1 - weight) * q[x] / sum_q;
        }
        std::vector<double> base(q);
        for (double& probability : base) probability /= sum_q;
        return SymmetricRenyiDivergence(mixed, base, RenyiOrder::Parse(order).value());
      };
      const double weight = LargestFeasible(0.8, 0.05, kEvaluations, cost);
      EXPECT_LE(cost(weight), 0.05);
      const bool is_largest = weight == 0.8 || cost(weight * (1 + kDivergenceTolerance)) > 0.05;
      EXPECT_TRUE(is_largest) << "order " << order << ", trial " << trial;
    }
  }
}

TEST(LargestFeasibleTest, ReturnsTheUpperEndWhenEverythingIsFeasible) {
  EXPECT_EQ(LargestFeasible(0.8, 0.1, kEvaluations, [](double) { return 0.0; }), 0.8);
  EXPECT_EQ(LargestFeasible(0.8, 0.1, kEvaluations, [](double x) { return x / 8; }), 0.8);
  EXPECT_EQ(LargestFeasible(0.8, kInfinity, kEvaluations, [](double) { return 1e300; }), 0.8);
  EXPECT_EQ(LargestFeasible(0.0, 0.1, kEvaluations, [](double x) { return x; }), 0.0);
}

TEST(LargestFeasibleTest, StopsBelowJumpsToInfinityAndNan) {
  for (const double beyond : {kInfinity, std::nan(""), 1e300}) {
    for (const double edge : {0.03, 0.3, 0.5, 0.9}) {
      const auto cost = [&](double x) { return x > edge ? beyond : 0.001 * x; };
      const double weight = LargestFeasible(1, 0.1, kEvaluations, cost);
      EXPECT_LE(weight, edge);
      EXPECT_GT(weight, edge / kMonotoneFactor);
    }
  }
}

TEST(LargestFeasibleTest, IsZeroWhenNothingIsFeasible) {
  const auto solve = [](double target, double cost) {
    return LargestFeasible(1, target, kEvaluations, [&](double) { return cost; });
  };
  EXPECT_EQ(solve(0.1, kInfinity), 0);
  EXPECT_EQ(solve(0.1, std::nan("")), 0);
  EXPECT_EQ(solve(kInfinity, kInfinity), 0);
  EXPECT_EQ(solve(0, 0), 0);
  EXPECT_EQ(solve(-0.1, 0), 0);
  EXPECT_EQ(solve(std::nan(""), 0), 0);
}

TEST(LargestFeasibleTest, DoesTheSameWorkWhateverTheCost) {
  const std::vector<double (*)(double)> costs = {
      [](double) { return 0.0; }, [](double) { return std::nan(""); },
      [](double x) { return x * x; }, [](double x) { return x > 0.3 ? kInfinity : x; }};
  for (const auto& cost : costs) {
    int calls = 0;
    LargestFeasible(0.8, 0.1, 7, [&](double x) {
      EXPECT_TRUE(x > 0 && x <= 0.8) << x;
      ++calls;
      return cost(x);
    });
    EXPECT_EQ(calls, 7);
  }
}

// Costs that jump, crawl and stand still.
TEST(LargestFeasibleTest, ReturnsAFeasibleWeightNearTheEndOfAnyMonotoneCost) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> places(6), heights(6);
    for (double& place : places) place = uniform(random);
    for (double& height : heights) height = std::pow(10, 8 * uniform(random) - 6);
    const auto cost = [&](double x) {
      double sum = 0;
      for (int i = 0; i < 6; ++i) sum += x > places[i] ? heights[i] : 0;
      return sum;
    };
    const double weight = LargestFeasible(1, 0.01, kEvaluations, cost);
    EXPECT_LE(cost(weight), 0.01);
    EXPECT_TRUE(weight == 1 || cost(weight * kMonotoneFactor) > 0.01) << trial;
  }
}

TEST(LargestByHalvingTest, FindsTheLastThatFitsByEqualWork) {
  for (const double last : {0.0, 1e-3, 1.0, 5.9, 6.0, 100.0}) {
    int evaluations = 0;
    const double found = LargestByHalving(6, 40, [&](double x) {
      ++evaluations;
      EXPECT_TRUE(x > 0 && x <= 6);
      return x <= last;
    });
    EXPECT_EQ(evaluations, 40);
    EXPECT_LE(found, last);
    EXPECT_NEAR(found, std::min(last, 6.0), 12 * 0x1p-40);
  }
}

}  // namespace mixing_weight_test
}  // namespace submix::divergence
