#include "submix/divergence/divergence_kernel.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace submix::divergence {
namespace divergence_kernel_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

DivergenceKernel KernelAt(double order) {
  return DivergenceKernel(RenyiOrder::Create(order).value());
}

TEST(DivergenceKernelTest, IsTheSquareAtOrderTwo) {
  for (const double t : {-1.0, -0.3, 1e-9, 0.0, 7.0}) EXPECT_EQ(KernelAt(2).G(t), t * t);
}

TEST(DivergenceKernelTest, AgreesWithExactPolynomialsAtWholeOrders) {
  for (double t = -1; t < 3; t += 0.0078125) {
    // (1+t)^3 - 1 - 3t and (1+t)^4 - 1 - 4t, multiplied out.
    EXPECT_NEAR(KernelAt(3).G(t), t * t * (3 + t), 1e-14 * t * t * (3 + t));
    EXPECT_NEAR(KernelAt(4).G(t), t * t * (6 + t * (4 + t)), 1e-14 * t * t * (6 + t * (4 + t)));
  }
}

TEST(DivergenceKernelTest, ItsSeriesAndItsClosedFormMeet) {
  for (const double order : {0.01, 0.3, 0.5, 0.999999, 1.0, 1.000001, 1.5, 8.0, 64.0, 512.0}) {
    const double radius = std::min(0.05, 0.5 / order);
    for (const double t : {radius, -radius}) {
      const double inside = KernelAt(order).G(t);
      const double outside = KernelAt(order).G(t * (1 + 1e-15));
      EXPECT_NEAR(outside / inside, 1, 2e-13) << order << " " << t;
    }
  }
}

TEST(DivergenceKernelTest, HasTheExactSignAndIsZeroOnlyAtZero) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-40, 2);
  for (const double order : {0.5, 0.999999, 1.0, 1.000001, 1.5, 18.0}) {
    const DivergenceKernel kernel = KernelAt(order);
    EXPECT_EQ(kernel.G(0), 0);
    for (int i = 0; i < 2000; ++i) {
      const double size = std::pow(10, exponent(random));
      EXPECT_GT(kernel.G(size) * (order < 1 ? -1 : 1), 0) << order << " " << size;
      const double below = -std::min(size, 1.0);
      EXPECT_GT(kernel.G(below) * (order < 1 ? -1 : 1), 0) << order << " " << below;
    }
  }
}

TEST(DivergenceKernelTest, KnowsItsValuesAtTheEdges) {
  EXPECT_EQ(KernelAt(1).G(-1), 1);
  EXPECT_EQ(KernelAt(1.5).G(-1), 0.5);
  EXPECT_EQ(KernelAt(0.5).G(-1), -0.5);
  EXPECT_EQ(KernelAt(18).G(1e300), kInfinity);
  for (const double order : {0.5, 1.0, 1.5, 2.0}) {
    EXPECT_TRUE(std::isnan(KernelAt(order).G(std::nan("")))) << order;
    EXPECT_TRUE(std::isnan(KernelAt(order).G(-1.5))) << order;
  }
}

TEST(DivergenceKernelTest, SteadyPairTermsAreTheSameBitForBit) {
  for (const double order : {0.3, 1.0, 1.5, 2.0, 8.0, 64.0}) {
    const DivergenceKernel kernel = KernelAt(order);
    for (const double denominator : {1e-12, 0.25, 3e14}) {
      for (const double t : {-1.0, -1 + 1e-9, -0.75, -0.5, -0.3, -0.05, -1e-3, -1e-17, 0.0, 1e-9,
                             1e-3, 0.04, 0.06, 0.5, 7.0, 1e4}) {
        const double difference = denominator * t;
        const double numerator = denominator + difference;
        EXPECT_EQ(kernel.SteadyPairTerm(numerator, denominator, difference),
                  kernel.PairTerm(numerator, denominator, difference))
            << order << ' ' << denominator << ' ' << t;
      }
    }
    EXPECT_EQ(kernel.SteadyPairTerm(0.25, 0, 0.25), kernel.PairTerm(0.25, 0, 0.25)) << order;
    EXPECT_EQ(kernel.SteadyPairTerm(0, 0, 0), kernel.PairTerm(0, 0, 0)) << order;
    EXPECT_EQ(kernel.SteadyPairTerm(1e300, 1e-300, 1e300), kernel.PairTerm(1e300, 1e-300, 1e300))
        << order;
  }
}

TEST(DivergenceKernelTest, PairTermsCoverZerosInEitherPmf) {
  EXPECT_EQ(KernelAt(1.5).PairTerm(0.25, 0, 0.25), kInfinity);
  EXPECT_EQ(KernelAt(1).PairTerm(0.25, 0, 0.25), kInfinity);
  EXPECT_EQ(KernelAt(0.5).PairTerm(0.25, 0, 0.25), -0.125);
  EXPECT_EQ(KernelAt(1.5).PairTerm(0, 0, 0), 0);
  EXPECT_EQ(KernelAt(1.5).PairTerm(0, 0.25, -0.25), 0.125);
}

TEST(DivergenceKernelTest, SumsTheSameByExpectationAsTermByTerm) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(0.1, 1);
  for (const std::size_t size : {1u, 7u, 8u, 1023u, 1024u, 3001u}) {
    std::vector<double> denominators(size);
    std::vector<double> differences(size);
    for (std::size_t x = 0; x < size; ++x) {
      denominators[x] = uniform(random);
      differences[x] = denominators[x] * (uniform(random) - 0.5);
    }
    for (const double order : {1.0, 1.5, 2.0, 8.0}) {
      const DivergenceKernel kernel = KernelAt(order);
      long double expected = 0;
      for (std::size_t x = 0; x < size; ++x) {
        expected += denominators[x] * kernel.G(differences[x] / denominators[x]);
      }
      EXPECT_NEAR(kernel.Expectation(denominators, differences) / static_cast<double>(expected), 1,
                  1e-14);
    }
  }
}

TEST(DivergenceKernelTest, TurnsExpectationsIntoDivergencesThatAreNeverNegativeNorNan) {
  EXPECT_DOUBLE_EQ(KernelAt(2).DivergenceFromExpectation(std::expm1(0.25)), 0.25);
  EXPECT_DOUBLE_EQ(KernelAt(3).DivergenceFromExpectation(std::expm1(0.5)), 0.25);
  EXPECT_EQ(KernelAt(1).DivergenceFromExpectation(0.25), 0.25);
  EXPECT_EQ(KernelAt(2).DivergenceFromExpectation(-1e-17), 0);
  EXPECT_EQ(KernelAt(2).DivergenceFromExpectation(std::nan("")), kInfinity);
  EXPECT_EQ(KernelAt(1).DivergenceFromExpectation(std::nan("")), kInfinity);
  EXPECT_EQ(KernelAt(0.5).DivergenceFromExpectation(-1), kInfinity);
}

TEST(DivergenceKernelDeathTest, HasNoFormAtOrderInfinity) {
  EXPECT_DEATH((void)DivergenceKernel(RenyiOrder::Infinity()), "no kernel at order infinity");
}

}  // namespace divergence_kernel_test
}  // namespace submix::divergence
