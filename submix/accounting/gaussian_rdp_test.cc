#include "submix/accounting/gaussian_rdp.h"

#include <cmath>
#include <limits>

#include "submix/accounting/rdp_conversion.h"
#include "submix/accounting/testing/reference_table.h"
#include "submix/base/testing/status_matchers.h"

namespace submix::accounting {
namespace gaussian_rdp_test {

using base::StatusCode;
using base::StatusIs;
using divergence::RenyiOrder;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(GaussianRdpTest, AgreesWithHighPrecision) {
  ExpectReferences("gaussian", 15, 2, 1e-14, [](const ReferenceRecord& record) {
    return GaussianRdp(record.number(0), record.order(1));
  });
}

TEST(GaussianRdpTest, KnowsItsEdges) {
  EXPECT_EQ(GaussianRdp(0, RenyiOrder::Infinity()), 0);
  EXPECT_EQ(GaussianRdp(0.1, RenyiOrder::Infinity()), kInfinity);
  for (const double bad : {-1.0, std::nan("")}) {
    EXPECT_EQ(GaussianRdp(bad, RenyiOrder::Two()), kInfinity);
  }
}

TEST(ZcdpTest, DeltaAgreesWithHighPrecision) {
  ExpectReferences("zcdp-delta", 20, 2, 1e-10, [](const ReferenceRecord& record) {
    return DeltaForZcdp(record.number(0), record.number(1)).value();
  });
}

TEST(ZcdpTest, EpsilonAndDeltaAreInverse) {
  for (const double rho : {1e-6, 0.01, 0.5, 20.0}) {
    for (const double delta : {1e-12, 1e-5, 0.01}) {
      SUBMIX_ASSERT_OK_AND_ASSIGN(const double epsilon, EpsilonForZcdp(rho, delta));
      EXPECT_LE(DeltaForZcdp(rho, epsilon).value(), delta);
      if (epsilon == 0) continue;
      EXPECT_GT(DeltaForZcdp(rho, epsilon * (1 - 1e-9)).value(), delta);
    }
  }
}

TEST(ZcdpTest, IsNeverWorseThanTheConversionOfAnyOneOrder) {
  for (const double a : {1.5, 3.0, 8.0, 40.0}) {
    const RdpBound bound = {RenyiOrder::Create(a).value(), 0.1 * a};
    EXPECT_LE(DeltaForZcdp(0.1, 2).value(),
              DeltaForEpsilon(bound, 2, ConversionKind::kImproved).value() * (1 + 1e-12));
  }
}

TEST(ZcdpTest, RefusesValuesOutOfRange) {
  EXPECT_THAT(DeltaForZcdp(-1, 1), StatusIs(StatusCode::kInvalidArgument, HasSubstr("zCDP")));
  EXPECT_THAT(EpsilonForZcdp(1, 0), StatusIs(StatusCode::kInvalidArgument, HasSubstr("delta")));
  EXPECT_THAT(EpsilonForZcdp(kInfinity, 0.1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("rho")));
  EXPECT_EQ(EpsilonForZcdp(0, 0.1).value(), 0);
}

}  // namespace gaussian_rdp_test
}  // namespace submix::accounting
