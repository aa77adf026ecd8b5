#include "submix/accounting/individual_filter.h"

#include <limits>

#include <gtest/gtest.h>

namespace submix::accounting {
namespace individual_filter_test {

FixedNats Units(std::int64_t units) { return FixedNats::FromUnits(units); }

TEST(IndividualFilterTest, PaysToTheLastUnitAndNoFurther) {
  IndividualFilter filter(Units(10));
  ASSERT_TRUE(filter.CanPay(Units(10)));
  EXPECT_FALSE(filter.CanPay(Units(11)));
  filter.Pay(Units(7));
  EXPECT_EQ(filter.remaining(), Units(3));
  EXPECT_FALSE(filter.CanPay(Units(4)));
  filter.Pay(Units(3));
  EXPECT_EQ(filter.spent(), Units(10));
  EXPECT_EQ(filter.remaining(), Units(0));
  EXPECT_FALSE(filter.CanPay(Units(1)));
}

TEST(IndividualFilterTest, ZeroCanAlwaysBePaidAndUnpayableNever) {
  const IndividualFilter spent(Units(10), Units(10));
  EXPECT_TRUE(spent.CanPay(Units(0)));
  const IndividualFilter largest(Units(std::numeric_limits<std::int64_t>::max() - 1));
  EXPECT_FALSE(largest.CanPay(FixedNats::Unpayable()));
}

TEST(IndividualFilterTest, SumsThatWouldOverflowDoNotPass) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max() - 1;
  const IndividualFilter filter(Units(kLargest), Units(2));
  EXPECT_FALSE(filter.CanPay(Units(kLargest)));
  EXPECT_TRUE(filter.CanPay(Units(kLargest - 2)));
}

TEST(IndividualFilterTest, EmptyingLeavesNothingAndNeverRefunds) {
  IndividualFilter filter(Units(10), Units(4));
  filter.Empty();
  EXPECT_EQ(filter.spent(), Units(10));
  IndividualFilter overspent(Units(10), Units(25));
  EXPECT_EQ(overspent.remaining(), Units(0));
  EXPECT_TRUE(overspent.CanPay(Units(0)));
  overspent.Empty();
  EXPECT_EQ(overspent.spent(), Units(25));
}

TEST(IndividualFilterDeathTest, PayingBeyondTheBudgetIsABug) {
  IndividualFilter filter(Units(10));
  EXPECT_DEATH(filter.Pay(Units(11)), "beyond the budget");
  EXPECT_DEATH((void)IndividualFilter(FixedNats::Unpayable()), "finite amounts");
}

}  // namespace individual_filter_test
}  // namespace submix::accounting
