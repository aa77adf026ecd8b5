#include "submix/accounting/calculators/extraction_bound.h"

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "submix/divergence/renyi_divergence.h"

namespace submix::accounting {
namespace extraction_bound_test {

using divergence::RenyiOrder;

RenyiOrder Order(double value) { return RenyiOrder::Create(value).value(); }

// At epsilon 2.
TEST(ExtractionBoundTest, AgreesWithWorkedExamples) {
  EXPECT_NEAR(FanoExtractionBound(2, 1e5), 0.234, 5e-4);
  EXPECT_NEAR(RenyiExtractionBound({Order(2), 2}, 1e5), 0.0086, 5e-5);
  EXPECT_NEAR(RenyiExtractionBound({Order(8), 2}, 1e5), 0.00024, 5e-6);
  EXPECT_NEAR(FanoExtractionBound(2, 1e9), 0.130, 5e-4);
  EXPECT_NEAR(RenyiExtractionBound({Order(2), 2}, 1e9), 8.6e-5, 5e-7);
  EXPECT_DOUBLE_EQ(RenyiExtractionBound({RenyiOrder::Infinity(), 1}, 100), std::exp(1) / 100);
}

// Games with a reference law and one law for each secret: the best guess for the least lucky secret
// stays within both bounds.
TEST(ExtractionBoundTest, NoGuesserDoesBetter) {
  std::mt19937_64 random(11);
  std::exponential_distribution<double> exponential;
  constexpr int kOutcomes = 4;
  const auto draw = [&](double sharpness) {
    std::vector<double> pmf(kOutcomes);
    for (double& p : pmf) p = std::pow(exponential(random), sharpness) + 1e-3;
    const double sum = std::accumulate(pmf.begin(), pmf.end(), 0.0);
    for (double& p : pmf) p /= sum;
    return pmf;
  };
  for (int trial = 0; trial < 200; ++trial) {
    const auto reference = draw(1);
    std::vector<std::vector<double>> laws;
    for (int secret = 0; secret < 3; ++secret) laws.push_back(draw(trial % 4));
    // Deterministic guessers are enough for a lower bound on the best success.
    double best = 0;
    for (int code = 0; code < 81; ++code) {  // 3 guesses for each of 4 outcomes
      double success[3] = {};
      for (int x = 0, digits = code; x < kOutcomes; ++x, digits /= 3) {
        success[digits % 3] += laws[digits % 3][x];
      }
      best = std::max(best, std::min({success[0], success[1], success[2]}));
    }
    double among = 0;
    for (const auto& p : laws) {
      for (const auto& q : laws) {
        among = std::max(among, divergence::RenyiDivergence(p, q, RenyiOrder::One()));
      }
    }
    EXPECT_LE(best, FanoExtractionBound(among, 3));
    for (const char* text : {"1.5", "2", "8", "inf"}) {
      const RenyiOrder order = RenyiOrder::Parse(text).value();
      double to_reference = 0;
      for (const auto& p : laws) {
        to_reference = std::max(to_reference, divergence::RenyiDivergence(p, reference, order));
      }
      EXPECT_LE(best, RenyiExtractionBound({order, to_reference}, 3) * (1 + 1e-12));
    }
  }
}

// Remark D.3 and section C.3: kappa users are not kappa times epsilon.
TEST(ExtractionBoundTest, SaysNothingWhereNothingFollows) {
  EXPECT_EQ(RenyiExtractionBound({RenyiOrder::One(), 0.1}, 1e6), 1);
  EXPECT_EQ(RenyiExtractionBound({Order(2), 50}, 100), 1);
  EXPECT_EQ(RenyiExtractionBound({Order(2), std::nan("")}, 100), 1);
  EXPECT_EQ(RenyiExtractionBound({Order(2), 1}, 0), 1);
  EXPECT_EQ(FanoExtractionBound(std::nan(""), 100), 1);
  EXPECT_EQ(FanoExtractionBound(1, 1), 1);
  EXPECT_EQ(FanoExtractionBound(100, 10), 1);
}

}  // namespace extraction_bound_test
}  // namespace submix::accounting
