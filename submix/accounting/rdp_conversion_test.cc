#include "submix/accounting/rdp_conversion.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"

namespace submix::accounting {
namespace rdp_conversion_test {

using base::StatusCode;
using base::StatusIs;
using divergence::RenyiOrder;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr auto kClassic = ConversionKind::kClassic;
constexpr auto kImproved = ConversionKind::kImproved;

RenyiOrder Order(double value) { return RenyiOrder::Create(value).value(); }

// Sums of O(1) to O(1000) terms lose the digits above the result; hence absolute as well.
void ExpectClose(const base::StatusOr<double>& actual, double expected, const std::string& where) {
  SUBMIX_ASSERT_OK(actual) << where;
  EXPECT_NEAR(*actual, expected, 1e-12 * expected + 1e-12) << where;
}

TEST(RdpConversionTest, AgreesWithHighPrecision) {
  std::ifstream table(SUBMIX_TESTDATA_DIR "/accounting/rdp_conversion.txt");
  ASSERT_TRUE(table.is_open());
  std::string function, kind_name, order_text, value_text;
  double first = 0, second = 0;
  int compared = 0;
  while (table >> function >> kind_name >> order_text >> first >> second >> value_text) {
    const std::string where = function + " " + kind_name + " " + order_text + " " +
                              std::to_string(first) + " " + std::to_string(second);
    const ConversionKind kind = kind_name == "classic" ? kClassic : kImproved;
    const RenyiOrder order = RenyiOrder::Parse(order_text).value();
    const double value = std::atof(value_text.c_str());
    if (function == "epsilon") {
      ExpectClose(EpsilonForDelta({order, first}, second, kind), value, where);
    } else if (function == "delta") {
      const auto delta = DeltaForEpsilon({order, first}, second, kind);
      SUBMIX_ASSERT_OK(delta);
      EXPECT_NEAR(*delta, value, 1e-11 * value) << where;
    } else if (value_text == "unreachable") {
      EXPECT_THAT(RdpForEpsilon(order, {first, second}, kind),
                  StatusIs(StatusCode::kInvalidArgument, HasSubstr("out of reach")))
          << where;
    } else {
      ExpectClose(RdpForEpsilon(order, {first, second}, kind), value, where);
    }
    ++compared;
  }
  EXPECT_EQ(compared, 1232);
}

// Numbers of the SubMix and AdaPMixED papers; Theorem 5.
TEST(RdpConversionTest, AgreesWithTheNumbersOfThePapers) {
  EXPECT_NEAR(EpsilonForDelta({Order(2), 2}, 1e-5, kClassic).value(), 13.5, 0.05);
  EXPECT_NEAR(EpsilonForDelta({Order(2), 2}, 1e-5, kImproved).value(), 12.1, 0.05);
  EXPECT_NEAR(EpsilonForDelta({Order(18), 0.474}, 1e-5, kImproved).value(), 0.924, 5e-4);
  EXPECT_NEAR(EpsilonForDelta({Order(4.0 / 3), 6}, 1e-5, kImproved).value(), 38.3, 0.05);
}

TEST(RdpConversionTest, PureGuaranteesNeedNoConversion) {
  for (const auto kind : {kClassic, kImproved}) {
    const RdpBound pure = {RenyiOrder::Infinity(), 0.7};
    EXPECT_EQ(EpsilonForDelta(pure, 1e-5, kind).value(), 0.7);
    EXPECT_EQ(DeltaForEpsilon(pure, 0.7, kind).value(), 0);
    EXPECT_GT(DeltaForEpsilon(pure, 0.6, kind).value(), 0.6);
    EXPECT_EQ(RdpForEpsilon(RenyiOrder::Infinity(), {0.7, 1e-5}, kind).value(), 0.7);
  }
}

TEST(RdpConversionTest, InfiniteDivergenceGuaranteesNothing) {
  for (const auto kind : {kClassic, kImproved}) {
    EXPECT_EQ(EpsilonForDelta({Order(2), kInfinity}, 1e-5, kind).value(), kInfinity);
    EXPECT_EQ(DeltaForEpsilon({Order(2), kInfinity}, 3, kind).value(), 1);
  }
}

TEST(RdpConversionTest, TheThreeDirectionsAgree) {
  for (const auto kind : {kClassic, kImproved}) {
    for (const double order : {1.5, 2.0, 18.0}) {
      const double delta = 1e-6;
      const double rdp = RdpForEpsilon(Order(order), {30, delta}, kind).value();
      EXPECT_NEAR(EpsilonForDelta({Order(order), rdp}, delta, kind).value(), 30, 1e-12);
      EXPECT_NEAR(DeltaForEpsilon({Order(order), rdp}, 30, kind).value(), delta, 1e-17);
    }
  }
}

TEST(RdpConversionTest, TheBestOrderIsTakenAndOrdersOutOfRangeAreLeftOut) {
  const RdpBound bounds[] = {{Order(1), 0.01}, {Order(2), 2}, {Order(8), 2.5}, {Order(64), 9}};
  const BestConversion best = BestEpsilon(bounds, 1e-5, kImproved).value();
  EXPECT_EQ(best.order, Order(8));
  EXPECT_EQ(best.rdp, 2.5);
  EXPECT_EQ(best.epsilon, EpsilonForDelta(bounds[2], 1e-5, kImproved).value());
  EXPECT_THAT(BestEpsilon({bounds, 1}, 1e-5, kImproved),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at least 1.01")));
  EXPECT_THAT(BestEpsilon({}, 1e-5, kClassic),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no bound")));
  EXPECT_THAT(BestEpsilon(bounds, 2, kClassic),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("delta")));
}

// The slide table's last row: order 18, delta 1e-5.
TEST(RdpConversionTest, TheSlidesConversionIs450) {
  const double surcharge = EpsilonForDelta({Order(18), 0.474}, 1e-5, kImproved).value() - 0.474;
  EXPECT_EQ(std::round(1000 * surcharge), 450);
}

TEST(RdpConversionTest, RefusesOrdersThatTheConversionsDoNotCover) {
  EXPECT_THAT(EpsilonForDelta({Order(1), 2}, 1e-5, kClassic),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("order above 1, found 1")));
  EXPECT_THAT(DeltaForEpsilon({Order(1.005), 2}, 1, kImproved),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at least 1.01, found 1.005")));
  EXPECT_THAT(RdpForEpsilon(Order(0.5), {1, 1e-5}, kClassic),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("order")));
}

TEST(RdpConversionTest, RefusesValuesOutOfRangeAndNan) {
  const RdpBound bound = {Order(2), 2};
  for (const double delta : {0.0, 1.0, -1e-5, std::nan("")}) {
    EXPECT_THAT(EpsilonForDelta(bound, delta, kImproved),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("delta: expected")));
    EXPECT_THAT(RdpForEpsilon(Order(2), {1, delta}, kImproved),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("delta: expected")));
  }
  for (const double bad : {-1e-9, std::nan("")}) {
    EXPECT_THAT(EpsilonForDelta({Order(2), bad}, 1e-5, kClassic),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("rdp: expected")));
    EXPECT_THAT(DeltaForEpsilon(bound, bad, kClassic),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("epsilon: expected")));
  }
}

}  // namespace rdp_conversion_test
}  // namespace submix::accounting
