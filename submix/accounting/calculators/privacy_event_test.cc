#include "submix/accounting/calculators/privacy_event.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "submix/accounting/calculators/rdp_accountant.h"
#include "submix/divergence/bounded_range.h"

namespace submix::accounting {
namespace privacy_event_test {

using divergence::RenyiOrder;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<MechanismRun> EveryKind() {
  return {SubsampledGaussianRun{0.02, 1.3}, LaplaceRun{4},      GnmaxRun{20}, BoundedRangeRun{0.1},
          DpDecodingRun{0.001, 1000},       OneOrderRun{8, 0.5}};
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

TEST(PrivacyEventTest, ParametersOutOfRangeCostInfinity) {
  for (const double bad : {std::nan(""), -1.0}) {
    for (const MechanismRun& run :
         {MechanismRun(SubsampledGaussianRun{bad, 1}),
          MechanismRun(SubsampledGaussianRun{0.5, bad}), MechanismRun(LaplaceRun{bad}),
          MechanismRun(GnmaxRun{bad}), MechanismRun(BoundedRangeRun{bad}),
          MechanismRun(DpDecodingRun{bad, 5}), MechanismRun(OneOrderRun{2, bad})}) {
      for (const char* text : {"0.5", "1", "1.5", "2", "18", "inf"}) {
        EXPECT_EQ(RunRdp(run, RenyiOrder::Parse(text).value()), kInfinity)
            << run.index() << " " << text;
      }
    }
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
