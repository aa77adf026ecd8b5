#include "submix/accounting/calculators/privacy_event.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "submix/accounting/calculators/rdp_accountant.h"
#include "submix/divergence/bounded_range.h"
#include "submix/divergence/renyi_divergence.h"

namespace submix::accounting {
namespace privacy_event_test {

using divergence::RenyiOrder;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<MechanismRun> EveryKind() {
  return {GaussianRun{3},          SubsampledGaussianRun{0.02, 1.3},
          LaplaceRun{4},           GnmaxRun{20},
          BoundedRangeRun{0.1},    DpDecodingRun{0.001, 1000},
          ZcdpRun{0.01},           PureDpRun{0.2},
          PmixedRun{0.1, 4, 0.05}, OneOrderRun{8, 0.5}};
}

TEST(PrivacyEventTest, NoCostFallsWithTheOrder) {
  for (const MechanismRun& run : EveryKind()) {
    double last = 0;
    for (const RenyiOrder order : DefaultOrders()) {
      if (order.value() > 1000 && !order.is_infinite()) continue;
      const double rdp = RunRdp(run, order);
      EXPECT_GE(rdp, last * (1 - 1e-12)) << run.index() << " " << order.ToString();
      last = rdp;
    }
    EXPECT_GT(RunRdp(run, RenyiOrder::Two()), 0) << run.index();
    EXPECT_LT(RunRdp(run, RenyiOrder::Two()), kInfinity) << run.index();
  }
}

TEST(PrivacyEventTest, CountsMultiply) {
  for (const MechanismRun& run : EveryKind()) {
    const double one = RunRdp(run, RenyiOrder::Two());
    EXPECT_DOUBLE_EQ(EventRdp({run, 1000}, RenyiOrder::Two()), 1000 * one);
    EXPECT_EQ(EventRdp({run, 0}, RenyiOrder::Infinity()), 0);
    EXPECT_EQ(EventRdp({run, -1}, RenyiOrder::Two()), kInfinity);
  }
}

TEST(PrivacyEventTest, ParametersOutOfRangeCostInfinity) {
  for (const double bad : {std::nan(""), -1.0}) {
    for (const MechanismRun& run :
         {MechanismRun(GaussianRun{bad}), MechanismRun(SubsampledGaussianRun{bad, 1}),
          MechanismRun(SubsampledGaussianRun{0.5, bad}), MechanismRun(LaplaceRun{bad}),
          MechanismRun(GnmaxRun{bad}), MechanismRun(BoundedRangeRun{bad}),
          MechanismRun(DpDecodingRun{bad, 5}), MechanismRun(ZcdpRun{bad}),
          MechanismRun(PureDpRun{bad}), MechanismRun(PmixedRun{bad, 2, 0.5}),
          MechanismRun(PmixedRun{0.1, 2, bad}), MechanismRun(OneOrderRun{2, bad})}) {
      for (const char* text : {"0.5", "1", "1.5", "2", "18", "inf"}) {
        EXPECT_EQ(RunRdp(run, RenyiOrder::Parse(text).value()), kInfinity)
            << run.index() << " " << text;
      }
    }
  }
}

TEST(PrivacyEventTest, PureEpsilonIsRandomisedResponse) {
  for (const double epsilon : {1e-6, 0.1, 2.0, 30.0, 1000.0}) {
    const double heads = 1 / (1 + std::exp(-epsilon));
    const std::vector<double> p = {heads, 1 - heads};
    const std::vector<double> q = {1 - heads, heads};
    for (const double a : {1.0, 2.0, 7.5}) {
      const RenyiOrder order = RenyiOrder::Create(a).value();
      const double rdp = RunRdp(PureDpRun{epsilon}, order);
      EXPECT_LE(rdp, epsilon);
      EXPECT_LE(rdp, a * epsilon * epsilon / 2);
      if (epsilon > 0.01 && epsilon < 10) {
        EXPECT_NEAR(rdp, divergence::RenyiDivergence(p, q, order), 1e-10 * rdp);
      }
    }
    EXPECT_NEAR(RunRdp(PureDpRun{epsilon}, RenyiOrder::Infinity()), epsilon, 1e-14 * epsilon);
  }
}

TEST(PrivacyEventTest, OneOrderBoundsItsOrderAndTheOnesBelow) {
  const OneOrderRun run = {8, 0.5};
  EXPECT_EQ(RunRdp(run, RenyiOrder::Two()), 0.5);
  EXPECT_EQ(RunRdp(run, RenyiOrder::Create(8).value()), 0.5);
  EXPECT_EQ(RunRdp(run, RenyiOrder::Create(8.1).value()), kInfinity);
}

TEST(PrivacyEventTest, BoundedRangeIsTheDivergenceRooms) {
  EXPECT_EQ(RunRdp(BoundedRangeRun{0.0875}, RenyiOrder::Two()),
            divergence::BoundedRangeDivergence(0.0875, RenyiOrder::Two()));
}

}  // namespace privacy_event_test
}  // namespace submix::accounting
