#include "submix/accounting/subsampled_gaussian_rdp.h"

#include <cmath>
#include <limits>

#include "submix/accounting/gaussian_rdp.h"
#include "submix/accounting/testing/reference_table.h"

namespace submix::accounting {
namespace subsampled_gaussian_rdp_test {

using divergence::RenyiOrder;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double At(double order, double q, double z) {
  return SubsampledGaussianRdp(q, z, RenyiOrder::Create(order).value());
}

TEST(SubsampledGaussianRdpTest, AgreesWithHighPrecision) {
  ExpectReferences("subsampled-gaussian", 180, 3, 1e-10, [](const ReferenceRecord& record) {
    return SubsampledGaussianRdp(record.number(0), record.number(1), record.order(2));
  });
}

// Doubles add the logarithms of 65536 weights with an error of 4e-9.
TEST(SubsampledGaussianRdpTest, LargeWholeOrdersKeepTheStatedDigits) {
  ExpectReferences("subsampled-gaussian-large", 27, 3, 1e-11, [](const ReferenceRecord& record) {
    return SubsampledGaussianRdp(record.number(0), record.number(1), record.order(2));
  });
}

TEST(SubsampledGaussianRdpTest, KnowsItsEdges) {
  for (const double order : {0.5, 1.0, 1.5, 2.0, 33.0}) {
    EXPECT_EQ(At(order, 0, 1), 0);
    EXPECT_EQ(At(order, 1, 2), GaussianRdp(0.5, RenyiOrder::Create(order).value()));
    EXPECT_EQ(At(order, 0.1, 0), kInfinity);
    EXPECT_EQ(At(order, 0.1, kInfinity), 0);
    EXPECT_EQ(At(order, 1.1, 1), kInfinity);
    EXPECT_EQ(At(order, std::nan(""), 1), kInfinity);
    EXPECT_EQ(At(order, 0.1, std::nan("")), kInfinity);
    EXPECT_EQ(At(order, 0.1, -1), kInfinity);
  }
  EXPECT_EQ(At(kInfinity, 0.1, 1), kInfinity);
  EXPECT_EQ(At(kInfinity, 0, 1), 0);
  EXPECT_EQ(At(0.5, 0.1, 1), At(1, 0.1, 1));
}

TEST(SubsampledGaussianRdpTest, GrowsWithOrderAndProbabilityAndShrinksWithNoise) {
  for (const double z : {0.05, 0.3, 1.0, 10.0}) {
    for (const double q : {1e-6, 0.01, 0.5}) {
      double last = 0;
      for (const double order : {1.0, 1.05, 1.7, 2.0, 2.01, 5.5, 6.0, 31.9, 32.0, 200.5, 512.0}) {
        const double rdp = At(order, q, z);
        EXPECT_GE(rdp, last * (1 - 1e-12)) << order << " " << q << " " << z;
        EXPECT_LE(rdp, At(order, std::min(1.0, 1.5 * q), z));
        EXPECT_GE(rdp, At(order, q, 1.1 * z));
        EXPECT_LE(rdp, GaussianRdp(1 / z, RenyiOrder::Create(order).value()));
        last = rdp;
      }
    }
  }
}

// So little noise that the integral is left to the integers beside it.
TEST(SubsampledGaussianRdpTest, IsAnUpperBoundForTinyNoise) {
  for (const double order : {1.3, 3.7}) {
    const double above = At(std::ceil(order), 0.01, 1e-4);
    EXPECT_LE(At(order, 0.01, 1e-4), above);
    // log A is within log 2 of its largest term, order^2 / (2 z^2) + order log q.
    const double least = (order * (order - 1) / 2e-8 + order * std::log(0.01)) / (order - 1);
    EXPECT_GE(At(order, 0.01, 1e-4), least);
  }
  EXPECT_GT(At(1, 0.01, 1e-4), 0.01 / 2e-8 * 0.99);
}

}  // namespace subsampled_gaussian_rdp_test
}  // namespace submix::accounting
