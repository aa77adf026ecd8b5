#include "submix/accounting/calculators/group_privacy.h"

#include <cmath>

#include <gtest/gtest.h>

#include "submix/accounting/calculators/laplace_rdp.h"
#include "submix/accounting/gaussian_rdp.h"
#include "submix/base/testing/status_matchers.h"

namespace submix::accounting {
namespace group_privacy_test {

using base::StatusCode;
using base::StatusIs;
using divergence::RenyiOrder;
using ::testing::HasSubstr;

RenyiOrder Order(double value) { return RenyiOrder::Create(value).value(); }

// Theorem C.2 and section C.3 of the SubMix paper claim m times the cost at the same order.
TEST(GroupPrivacyTest, TheCostOfAGroupIsNotLinear) {
  for (const int group : {2, 4, 8}) {
    const double one = GaussianRdp(0.1, Order(8));
    const double all = GaussianRdp(0.1 * group, Order(8));
    EXPECT_NEAR(all, group * group * one, 1e-14);
    EXPECT_GT(all, 1.9 * group * one);
  }
}

TEST(GroupPrivacyTest, CoversGaussianAndLaplaceNoise) {
  for (const int doublings : {0, 1, 2, 3}) {
    for (const double order : {16.0, 33.0, 512.0}) {
      for (const double r : {0.01, 0.3, 2.0}) {
        const double group = std::ldexp(r, doublings);
        const RdpBound gaussian = {Order(order), GaussianRdp(r, Order(order))};
        const RdpBound of_group = GroupBound(gaussian, doublings).value();
        EXPECT_DOUBLE_EQ(of_group.order.value(), std::ldexp(order, -doublings));
        EXPECT_GE(of_group.rdp * (1 + 1e-14), GaussianRdp(group, of_group.order));
        const RdpBound laplace = {Order(order), LaplaceRdp(r, Order(order))};
        EXPECT_GE(GroupBound(laplace, doublings).value().rdp * (1 + 1e-14),
                  LaplaceRdp(group, of_group.order));
      }
    }
  }
}

TEST(GroupPrivacyTest, PureBoundsAddUp) {
  const RdpBound group = GroupBound({RenyiOrder::Infinity(), 0.3}, 3).value();
  EXPECT_TRUE(group.order.is_infinite());
  EXPECT_DOUBLE_EQ(group.rdp, 2.4);
}

TEST(GroupPrivacyTest, DoublingsReachTheSize) {
  EXPECT_EQ(DoublingsFor(1), 0);
  EXPECT_EQ(DoublingsFor(2), 1);
  EXPECT_EQ(DoublingsFor(3), 2);
  EXPECT_EQ(DoublingsFor(1024), 10);
}

TEST(GroupPrivacyTest, RefusesOrdersThatAreTooLow) {
  EXPECT_TRUE(GroupBound({Order(4), 1}, 1).ok());
  EXPECT_THAT(GroupBound({Order(3.9), 1}, 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at least 4, found 3.9")));
  EXPECT_THAT(GroupBound({Order(1e9), 1}, 31),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("c")));
  EXPECT_THAT(GroupBound({Order(8), 1}, -1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("c")));
}

}  // namespace group_privacy_test
}  // namespace submix::accounting
