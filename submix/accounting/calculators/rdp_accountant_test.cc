#include "submix/accounting/calculators/rdp_accountant.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "submix/accounting/fixed_nats.h"
#include "submix/accounting/gaussian_rdp.h"
#include "submix/base/testing/status_matchers.h"

namespace submix::accounting {
namespace rdp_accountant_test {

using base::StatusCode;
using base::StatusIs;
using divergence::RenyiOrder;
using ::testing::HasSubstr;

TEST(RdpAccountantTest, AddsUpAndMergesEqualNeighbours) {
  RdpAccountant accountant;
  accountant.Compose({GnmaxRun{2}, 3});
  accountant.Compose({GnmaxRun{2}, 4});
  accountant.Compose({LaplaceRun{5}, 0});
  accountant.Compose({LaplaceRun{5}, 2});
  accountant.Compose({GnmaxRun{2}, 1});
  const std::vector<PrivacyEvent> expected = {
      {GnmaxRun{2}, 7}, {LaplaceRun{5}, 2}, {GnmaxRun{2}, 1}};
  EXPECT_EQ(accountant.history(), expected);
  for (const RdpBound& bound : accountant.bounds()) {
    const double sum =
        Outward(8 * RunRdp(GnmaxRun{2}, bound.order) + 2 * RunRdp(LaplaceRun{5}, bound.order));
    if (std::isinf(sum)) continue;
    EXPECT_NEAR(bound.rdp, sum, 1e-13 * sum);
  }
}

TEST(RdpAccountantTest, AStoredHistoryCanBeRecountedAtOtherOrders) {
  RdpAccountant accountant(IntegerOrders(33));
  accountant.Compose({SubsampledGaussianRun{0.01, 1}, 5000});
  const auto few = BestEpsilon(accountant.bounds(), 1e-5, ConversionKind::kImproved).value();
  const auto more = CountRdp(accountant.history(), DefaultOrders());
  const auto best = BestEpsilon(more, 1e-5, ConversionKind::kImproved).value();
  EXPECT_LE(best.epsilon, few.epsilon);
  EXPECT_EQ(accountant.bounds().size(), 32u);
}

// Theorem 6: C / (k tau) = .04375, 1,024 tokens: 6.987 at order 4.21; for users 16.277.
TEST(RdpAccountantTest, DefaultOrdersComeCloseToTheBest) {
  const PrivacyEvent parts = {BoundedRangeRun{2 * 0.04375}, 1024};
  const PrivacyEvent users = {BoundedRangeRun{4 * 0.04375}, 1024};
  const auto epsilon = [](const PrivacyEvent& event) {
    return BestEpsilon(CountRdp({&event, 1}, DefaultOrders()), 1e-5, ConversionKind::kImproved)
        .value()
        .epsilon;
  };
  EXPECT_NEAR(epsilon(parts), 6.987, 0.007);
  EXPECT_NEAR(epsilon(users), 16.277, 0.016);
  for (const double rho : {1e-6, 1e-3, 0.1, 3.0}) {
    const double exact = EpsilonForZcdp(rho, 1e-5).value();
    const PrivacyEvent votes = {GnmaxRun{1 / std::sqrt(rho)}, 1};
    EXPECT_GE(epsilon(votes), exact * (1 - 1e-12));
    EXPECT_LE(epsilon(votes), exact * 1.002);
  }
}

TEST(RdpAccountantTest, OrderInfinityGivesPurePrivacy) {
  const PrivacyEvent event = {OneOrderRun{std::numeric_limits<double>::infinity(), 0.01}, 3};
  const auto best =
      BestEpsilon(CountRdp({&event, 1}, DefaultOrders()), 1e-12, ConversionKind::kImproved).value();
  EXPECT_GE(best.epsilon, 0.03);
  EXPECT_LE(best.epsilon, 0.03 * (1 + 1e-10));
  EXPECT_TRUE(best.order.is_infinite());
}

TEST(RdpAccountantTest, MostRunsIsTheLargestCountThatFits) {
  for (const MechanismRun& run : {MechanismRun(BoundedRangeRun{0.0875}), MechanismRun(GnmaxRun{40}),
                                  MechanismRun(DpDecodingRun{1e-5, 50257})}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const RunsWithin most, MostRuns(run, {4, 1e-5}, DefaultOrders()));
    const auto epsilon = [&](std::int64_t count) {
      const PrivacyEvent event = {run, count};
      return BestEpsilon(CountRdp({&event, 1}, DefaultOrders()), 1e-5, ConversionKind::kImproved)
          .value()
          .epsilon;
    };
    EXPECT_GT(most.count, 0);
    EXPECT_LE(epsilon(most.count), 4);
    EXPECT_GT(epsilon(most.count + 1), 4);
  }
  EXPECT_EQ(MostRuns(BoundedRangeRun{0}, {1, 1e-5}, DefaultOrders()).value().count,
            std::int64_t{1} << 53);
  EXPECT_EQ(MostRuns(GnmaxRun{0}, {1, 1e-5}, DefaultOrders()).value().count, 0);
  EXPECT_THAT(MostRuns(GnmaxRun{1}, {1, 0}, DefaultOrders()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("delta")));
}

}  // namespace rdp_accountant_test
}  // namespace submix::accounting
