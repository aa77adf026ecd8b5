#include "submix/accounting/calculators/laplace_rdp.h"

#include <cmath>
#include <limits>

#include "submix/accounting/testing/reference_table.h"

namespace submix::accounting {
namespace laplace_rdp_test {

using divergence::RenyiOrder;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double At(double order, double r) { return LaplaceRdp(r, RenyiOrder::Create(order).value()); }

TEST(LaplaceRdpTest, AgreesWithHighPrecision) {
  ExpectReferences("laplace", 42, 2, 1e-12, [](const ReferenceRecord& record) {
    return LaplaceRdp(record.number(0), record.order(1));
  });
}

TEST(LaplaceRdpTest, KnowsItsEdges) {
  EXPECT_EQ(At(2, 0), 0);
  EXPECT_EQ(At(kInfinity, 0.7), 0.7);
  EXPECT_EQ(At(2, kInfinity), kInfinity);
  EXPECT_EQ(At(0.5, 0.7), At(1, 0.7));
  EXPECT_EQ(At(2, -1), kInfinity);
  EXPECT_EQ(At(2, std::nan("")), kInfinity);
  EXPECT_NEAR(At(1e300, 2), 2, 1e-12);
}

TEST(LaplaceRdpTest, GrowsWithTheOrderToTheLargestLogRatio) {
  for (double r = 1e-6; r < 100; r *= 3) {
    double last = 0;
    for (double order = 1; order < 1e6; order *= 1.3) {
      const double rdp = At(order, r);
      EXPECT_GE(rdp, last * (1 - 1e-14));
      EXPECT_LE(rdp, r);
      last = rdp;
    }
  }
}

// Why a vector costs most where one coordinate moves alone.
TEST(LaplaceRdpTest, SplittingTheSensitivityOverCoordinatesCostsLess) {
  for (const double order : {1.0, 2.0, 18.0}) {
    for (const double share : {0.1, 0.5}) {
      EXPECT_LE(At(order, share) + At(order, 1 - share), At(order, 1));
    }
  }
}

}  // namespace laplace_rdp_test
}  // namespace submix::accounting
