#include "submix/divergence/renyi_order.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"

namespace submix::divergence {
namespace renyi_order_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

TEST(RenyiOrderTest, TakesEveryPositiveNumberAndInfinity) {
  for (const double value : {1e-3, 0.5, 1.0, 1.5, 2.0, 512.0}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const RenyiOrder order, RenyiOrder::Create(value));
    EXPECT_EQ(order.value(), value);
    EXPECT_EQ(order.is_one(), value == 1);
    EXPECT_FALSE(order.is_infinite());
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(const RenyiOrder infinite,
                              RenyiOrder::Create(std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(infinite.is_infinite());
  EXPECT_EQ(infinite, RenyiOrder::Infinity());
}

TEST(RenyiOrderTest, RefusesZeroNegativeAndNan) {
  for (const double value : {0.0, -2.0, -std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_THAT(RenyiOrder::Create(value),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("expected a number above 0")));
  }
}

TEST(RenyiOrderTest, ReadsBackItsOwnText) {
  for (const char* text : {"2", "1.5", "1.000001", "512", "inf"}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const RenyiOrder order, RenyiOrder::Parse(text));
    EXPECT_EQ(order.ToString(), text);
  }
  EXPECT_EQ(RenyiOrder::Parse("infinity").value(), RenyiOrder::Infinity());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const RenyiOrder third, RenyiOrder::Create(4.0 / 3));
  EXPECT_EQ(RenyiOrder::Parse(third.ToString()).value(), third);
}

TEST(RenyiOrderTest, RefusesTextThatIsNotAnOrder) {
  for (const char* text : {"", "two", "2x", " 2", "nan", "-inf", "0", "1e999"}) {
    EXPECT_THAT(RenyiOrder::Parse(text), StatusIs(StatusCode::kInvalidArgument, HasSubstr("")))
        << text;
  }
}

TEST(RenyiOrderTest, ComparesByValue) {
  EXPECT_LT(RenyiOrder::One(), RenyiOrder::Two());
  EXPECT_LT(RenyiOrder::Two(), RenyiOrder::Infinity());
  EXPECT_NE(RenyiOrder::One(), RenyiOrder::Two());
}

}  // namespace renyi_order_test
}  // namespace submix::divergence
