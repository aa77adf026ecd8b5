#include "submix/accounting/calculators/counted_release.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/accounting/calculators/rdp_accountant.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/divergence/renyi_order.h"

namespace submix::accounting {
namespace counted_release_test {

using divergence::RenyiOrder;
using ::testing::HasSubstr;

double PureEpsilon(const MechanismRun& run) { return RunRdp(run, RenyiOrder::Infinity()); }

// The largest log ratio is the range: 2 C / k, and twice that for a user, who may be in any part.
TEST(CountedReleaseTest, ADclipAnswerIsPureInItsRange) {
  const CountedRelease release = DclipRelease(64, 1.5, 0.5);
  EXPECT_DOUBLE_EQ(PureEpsilon(release.run), 2 * 1.5 / 64 / 0.5);
  EXPECT_DOUBLE_EQ(PureEpsilon(*release.user_run), 2 * PureEpsilon(release.run));
}

// L1 sensitivity 2 / k over the scale.
TEST(CountedReleaseTest, LaplaceNoiseIsPureInItsSensitivityOverItsScale) {
  EXPECT_DOUBLE_EQ(PureEpsilon(LaplaceRelease(16, 0.5).run), 2.0 / 16 / 0.5);
}

// Mironov 2017: a Gaussian without sampling costs order / (2 z^2).
TEST(CountedReleaseTest, DpSgdOnEverythingIsAGaussian) {
  EXPECT_NEAR(RunRdp(DpSgdRelease(1, 3).run, RenyiOrder::Two()), 1.0 / 9, 1e-12);
}

TEST(CountedReleaseTest, AFilterPromisesNothingAboveItsOrder) {
  const MechanismRun run = FilteredSubmixRelease(2, 0.25).run;
  EXPECT_DOUBLE_EQ(RunRdp(run, RenyiOrder::Two()), 0.25);
  EXPECT_EQ(PureEpsilon(run), std::numeric_limits<double>::infinity());
}

TEST(CountedReleaseTest, VotesThatAgreeCostLessThanTheWorst) {
  const std::vector<double> votes = {1000, 0, 0};
  for (const RdpBound& bound : GnmaxVotesRdp(votes, 40, 3)) {
    EXPECT_LE(bound.rdp, 3 * RunRdp(GnmaxRelease(40).run, bound.order));
  }
  EXPECT_LT(GnmaxVotesRdp(votes, 40, 3).front().rdp, 1e-9);
}

TEST(CountedReleaseTest, StatementsSayForWhomAndWhatIsNotProven) {
  EXPECT_THAT(UserStatement(DclipRelease(64, 1, 1)).Labels(), HasSubstr("user"));
  EXPECT_FALSE(DpSgdRelease(0.1, 1).user_run.has_value());
  EXPECT_FALSE(GnmaxVotesStatement().worst_case);
  EXPECT_FALSE(PmixedStatement().proven);
}

TEST(CountedReleaseTest, EveryKindHasACostWhereNothingIsSaid) {
  std::set<std::string> names;
  for (const CountedKind& kind : CountedKinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    std::vector<double> values;
    for (const ReleaseParameter& parameter : kind.parameters) {
      EXPECT_TRUE(parameter.range.has(parameter.usual)) << kind.name << " " << parameter.name;
      for (const double wrong : {std::nan(""), -1.0}) {
        EXPECT_FALSE(parameter.range.has(wrong)) << kind.name << " " << parameter.name;
      }
      values.push_back(parameter.usual);
    }
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto cost, EpsilonOf({kind.make(values).run, 1}, 1e-6));
    EXPECT_TRUE(cost.epsilon > 0 && std::isfinite(cost.epsilon)) << kind.name;
  }
}

}  // namespace counted_release_test
}  // namespace submix::accounting
