#include "submix/accounting/calculators/composed_profile.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "submix/accounting/calculators/rdp_accountant.h"
#include "submix/base/testing/status_matchers.h"

namespace submix::accounting {
namespace composed_profile_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

PrivacyProfile Profile(const MechanismRun& run, std::int64_t count) {
  return ComposedProfile({run, count}).value();
}

double RdpEpsilon(const MechanismRun& run, std::int64_t count, double delta) {
  const PrivacyEvent event = {run, count};
  return BestEpsilon(CountRdp({&event, 1}, DefaultOrders()), delta, ConversionKind::kImproved)
      .value()
      .epsilon;
}

// 1 - e^((epsilon - r) / 2).
TEST(ComposedProfileTest, BracketsOneLaplaceAnswer) {
  for (const double r : {0.01, 0.5, 4.0}) {
    const PrivacyProfile profile = Profile(LaplaceRun{1 / r}, 1);
    for (double share = 0; share < 1.1; share += 0.07) {
      const double truth = std::max(0.0, -std::expm1((share - 1) * r / 2));
      EXPECT_LE(profile(share * r).lower, truth * (1 + 1e-9) + 1e-15);
      EXPECT_GE(profile(share * r).upper, truth * (1 - 1e-9) - 1e-15);
      EXPECT_NEAR(profile(share * r).upper, truth, 1e-6 * r);
    }
  }
}

// Two coordinates moved by a share of the sensitivity each give away less than one moved by all of
// it: docs/accounting.md. delta of the pair is the mean of one coordinate's over the other's loss.
TEST(ComposedProfileTest, OneLaplaceCoordinateIsTheWorst) {
  const auto one = [](double r, double epsilon) {
    return std::max({0.0, -std::expm1((epsilon - r) / 2), -std::expm1(epsilon)});
  };
  for (const double r : {0.3, 1.0, 5.0}) {
    for (const double share : {0.1, 0.5, 0.8}) {
      const double first = share * r, second = (1 - share) * r;
      for (double epsilon = -1.2 * r; epsilon < 1.2 * r; epsilon += 0.0531 * r) {
        double pair = 0.5 * one(first, epsilon - second) +
                      0.5 * std::exp(-second) * one(first, epsilon + second);
        constexpr int kSteps = 4000;
        for (int i = 0; i < kSteps; ++i) {
          const double s = second * ((2 * i + 1.0) / kSteps - 1);
          pair += one(first, epsilon - s) * std::exp((s - second) / 2) / 4 * 2 * second / kSteps;
        }
        EXPECT_LE(pair, one(r, epsilon) + 1e-7 * r);
      }
    }
  }
}

TEST(ComposedProfileTest, ExactEpsilonsAreBelowTheConversionAndNear) {
  for (const double delta : {1e-3, 1e-5, 1e-10}) {
    for (const MechanismRun& run :
         {MechanismRun(LaplaceRun{40}), MechanismRun(BoundedRangeRun{0.1}),
          MechanismRun(DpDecodingRun{1e-5, 50257})}) {
      SUBMIX_ASSERT_OK_AND_ASSIGN(const Bracket epsilon, ComposedEpsilon(Profile(run, 300), delta));
      const double converted = RdpEpsilon(run, 300, delta);
      EXPECT_LE(epsilon.lower, epsilon.upper);
      EXPECT_LE(epsilon.upper, epsilon.lower * 1.01);
      EXPECT_LE(epsilon.upper, converted) << run.index() << " " << delta;
      EXPECT_GE(epsilon.lower, converted * 0.7) << run.index() << " " << delta;
    }
  }
}

TEST(ComposedProfileTest, PureEpsilonIsTheLimitForTinyDelta) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Bracket epsilon,
                              ComposedEpsilon(Profile(DpDecodingRun{0.5, 50257}, 5), 1e-9));
  EXPECT_NEAR(epsilon.upper, 5 * std::log(1 + 50257 * 0.5 / 0.5), 1e-6);
  EXPECT_EQ(Profile(DpDecodingRun{0, 50257}, 5)(0.0).upper, 0);
}

TEST(ComposedProfileTest, RefusesWhatItCannotCompose) {
  for (const MechanismRun& run :
       {MechanismRun(GnmaxRun{3}), MechanismRun(SubsampledGaussianRun{0.1, 1}),
        MechanismRun(OneOrderRun{2, 1})}) {
    EXPECT_THAT(ComposedProfile({run, 1}), StatusIs(StatusCode::kUnimplemented, HasSubstr("only")));
  }
  EXPECT_THAT(ComposedProfile({LaplaceRun{1}, 100001}),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("100000")));
  for (const MechanismRun& run :
       {MechanismRun(LaplaceRun{0}), MechanismRun(LaplaceRun{-1}),
        MechanismRun(LaplaceRun{std::nan("")}), MechanismRun(DpDecodingRun{1, 5}),
        MechanismRun(BoundedRangeRun{-1})}) {
    EXPECT_THAT(ComposedProfile({run, 1}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("expected")));
  }
  EXPECT_THAT(ComposedProfile({LaplaceRun{1}, 0}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at least 1")));
  EXPECT_THAT(ComposedEpsilon(Profile(LaplaceRun{1}, 1), 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("delta")));
}

}  // namespace composed_profile_test
}  // namespace submix::accounting
