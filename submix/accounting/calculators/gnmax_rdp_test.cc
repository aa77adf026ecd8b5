#include "submix/accounting/calculators/gnmax_rdp.h"

#include <cmath>
#include <limits>
#include <vector>

#include "submix/accounting/testing/reference_table.h"

namespace submix::accounting {
namespace gnmax_rdp_test {

using divergence::RenyiOrder;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Votes 60, 3, 1 and fifty tokens without a vote.
std::vector<double> PageVotes() {
  std::vector<double> votes(53, 0.0);
  votes[0] = 60;
  votes[1] = 3;
  votes[2] = 1;
  return votes;
}

TEST(GnmaxRdpTest, AgreesWithHighPrecision) {
  ExpectReferences("gnmax", 48, 2, 1e-10, [](const ReferenceRecord& record) {
    std::vector<double> counts;
    for (std::size_t i = 3; i < record.fields.size(); ++i) counts.push_back(record.number(i));
    return GnmaxDataDependentRdp(counts, record.number(0), record.order(1));
  });
}

TEST(GnmaxRdpTest, AgreesWithWorkedExamples) {
  EXPECT_NEAR(GnmaxRdp(10, RenyiOrder::Two()), 0.02, 1e-16);
  EXPECT_NEAR(GnmaxDataDependentRdp(PageVotes(), 10, RenyiOrder::Two()), 0.0009, 5e-5);
}

TEST(GnmaxRdpTest, TheErrorBoundIsAUnionBoundWithACap) {
  const std::vector<double> two = {5, 2};
  EXPECT_NEAR(std::exp(GnmaxLogErrorBound(two, 3)), std::erfc(0.5) / 2, 1e-16);
  const std::vector<double> tied = {1, 1, 1, 1};
  EXPECT_DOUBLE_EQ(std::exp(GnmaxLogErrorBound(tied, 3)), 0.75);
  const std::vector<double> lone = {7};
  EXPECT_EQ(GnmaxLogErrorBound(lone, 3), -kInfinity);
}

// Where q underflows a double it is still not zero, and neither is the cost.
TEST(GnmaxRdpTest, UnderflowOfTheErrorDoesNotMakeAReleaseFree) {
  const std::vector<double> votes = {28, 0};
  const double log_error = GnmaxLogErrorBound(votes, 0.5);
  EXPECT_NEAR(log_error, -28 * 28 - std::log(2 * 28 * std::sqrt(M_PI)), 1e-3);
  EXPECT_EQ(std::erfc(28), 0);
  const double rdp = GnmaxDataDependentRdp(votes, 0.5, RenyiOrder::Two());
  EXPECT_GT(rdp, 0);
  EXPECT_LT(rdp, 1e-100);
}

TEST(GnmaxRdpTest, FallsBackToTheWorstCaseWhereTheTheoremDoesNotHold) {
  const std::vector<double> close = {20, 19};
  for (const double order : {1.0, 1.5, 2.0, 50.0}) {
    const RenyiOrder at = RenyiOrder::Create(order).value();
    EXPECT_EQ(GnmaxDataDependentRdp(close, 10, at), GnmaxRdp(10, at));
    // An order above mu_1 is out of the theorem's reach however sure the winner is.
    EXPECT_EQ(GnmaxTheorem6(-100, 10, order - 1, at), GnmaxRdp(10, at));
  }
  const std::vector<double> unknown = {std::nan(""), 3};
  EXPECT_EQ(GnmaxDataDependentRdp(unknown, 10, RenyiOrder::Two()), GnmaxRdp(10, RenyiOrder::Two()));
  EXPECT_EQ(GnmaxRdp(std::nan(""), RenyiOrder::Two()), kInfinity);
  EXPECT_EQ(GnmaxRdp(-1, RenyiOrder::Two()), kInfinity);
  EXPECT_EQ(GnmaxDataDependentRdp(PageVotes(), 10, RenyiOrder::Infinity()), kInfinity);
}

TEST(GnmaxRdpTest, IsContinuousAtOrderOne) {
  const double at_one = GnmaxDataDependentRdp(PageVotes(), 10, RenyiOrder::One());
  const double near_one =
      GnmaxDataDependentRdp(PageVotes(), 10, RenyiOrder::Create(1 + 1e-7).value());
  EXPECT_NEAR(at_one / near_one, 1, 1e-5);
  EXPECT_EQ(GnmaxDataDependentRdp(PageVotes(), 10, RenyiOrder::Create(0.5).value()),
            std::min(at_one, GnmaxRdp(10, RenyiOrder::Create(0.5).value())));
}

// Lemma 9 of the paper: with fixed higher orders a surer winner never costs more.
TEST(GnmaxRdpTest, ForFixedHigherOrdersTheCostGrowsWithTheError) {
  for (const double scale : {1.0, 5.0, 40.0}) {
    for (const double mu_2 : {1.1, 2.0, 8.0, 60.0}) {
      for (const double share : {0.0, 0.3, 0.99}) {
        const RenyiOrder order = RenyiOrder::Create(1 + share * mu_2).value();
        double last = 0;
        for (double log_error = -400; log_error < 0; log_error += 0.37) {
          const double rdp = GnmaxTheorem6(log_error, scale, mu_2, order);
          EXPECT_GE(rdp, last * (1 - 1e-12));
          last = rdp;
        }
      }
    }
  }
}

// Publishing a cost with Gaussian noise of s times its beta-smooth sensitivity, at order a
// (docs/accounting.md): the divergence, at r = e^-beta, and the paper's Theorem 23.
double SmoothReleaseRdp(double beta, double s, double a) {
  const double shrink = -std::expm1(-2 * beta);  // 1 - r^2
  const double v = 1 - a * shrink;
  return a * (1 - shrink) / (2 * s * s * v) - (a * beta + std::log(v) / 2) / (a - 1);
}
double PublishedSmoothReleaseRdp(double beta, double s, double a) {
  return a * std::exp(2 * beta) / (s * s) + (beta * a - std::log1p(-2 * a * beta) / 2) / (a - 1);
}

TEST(SmoothReleaseTest, AgreesWithTheDivergenceOfTwoGaussians) {
  ExpectReferences("smooth-release", 6, 3, 1e-10, [](const ReferenceRecord& record) {
    return SmoothReleaseRdp(record.number(0), record.number(1), record.number(2));
  });
}

// D_a(N(m, s^2) || N(0, (r s)^2)) over everything that a beta-smooth bound allows.
TEST(SmoothReleaseTest, IsTheSupremumOverTheScales) {
  for (const double beta : {0.001, 0.02, 0.2}) {
    for (const double s : {1.0, 10.0, 200.0}) {
      for (const double share : {0.01, 0.5, 0.97}) {
        const double limit = 1 / -std::expm1(-2 * beta);
        const double a = 1 + share * (limit - 1);
        const double rdp = SmoothReleaseRdp(beta, s, a);
        for (double u = -beta; u <= beta; u += beta / 20) {
          const double r = std::exp(u);
          const double m = std::min(1.0, r);
          const double v = a * r * r + 1 - a;
          const double divergence =
              a * m * m / (2 * s * s * v) + (a * u - std::log(v) / 2) / (a - 1);
          EXPECT_LE(divergence, rdp * (1 + 1e-9));
        }
      }
    }
  }
}

// The published formula is below the divergence at the setting of the authors' programs.
TEST(SmoothReleaseTest, ThePublishedCostIsTooSmall) {
  EXPECT_NEAR(PublishedSmoothReleaseRdp(0.49 / 20, 5, 20), 0.96891373, 1e-8);
  EXPECT_NEAR(SmoothReleaseRdp(0.49 / 20, 5, 20), 8.787718475, 1e-8);
}

}  // namespace gnmax_rdp_test
}  // namespace submix::accounting
