#include "submix/accounting/fixed_nats.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace submix::accounting {
namespace fixed_nats_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kUnit = std::ldexp(1.0, -FixedNats::kFractionBits);

// The exact value as a long double (64 bits of mantissa hold every number of units).
long double Exact(FixedNats nats) {
  return std::ldexp(static_cast<long double>(nats.units()), -50);
}

TEST(FixedNatsTest, MultiplesOfTheUnitAreExactInBothDirections) {
  for (const double nats : {0.0, kUnit, 3 * kUnit, 0.5, 1.0, 2.0, 4096.0, 8192 - kUnit * 1024}) {
    EXPECT_EQ(FixedNats::RoundUp(nats), FixedNats::RoundDown(nats)) << nats;
    EXPECT_EQ(FixedNats::RoundUp(nats).ToNatsRoundedUp(), nats);
  }
  EXPECT_EQ(FixedNats::RoundUp(1).units(), std::int64_t{1} << 50);
}

TEST(FixedNatsTest, RoundsChargesUpAndBudgetsDownByLessThanAUnit) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-30, 3.9);
  for (int i = 0; i < 10000; ++i) {
    const double nats = std::pow(10, exponent(random));
    const long double up = Exact(FixedNats::RoundUp(nats));
    const long double down = Exact(FixedNats::RoundDown(nats));
    EXPECT_GE(up, nats);
    EXPECT_LT(up - nats, kUnit);
    EXPECT_LE(down, nats);
    EXPECT_LT(nats - down, kUnit);
  }
}

TEST(FixedNatsTest, TheLeastPositiveChargeCostsAUnit) {
  EXPECT_EQ(FixedNats::RoundUp(std::numeric_limits<double>::denorm_min()).units(), 1);
  EXPECT_EQ(FixedNats::RoundUp(std::nextafter(kUnit, 1.0)).units(), 2);
  EXPECT_EQ(FixedNats::RoundDown(std::nextafter(kUnit, 0.0)).units(), 0);
}

TEST(FixedNatsTest, WhatNoBudgetCanHoldIsUnpayable) {
  for (const double nats : {8192.0, 1e300, kInfinity, std::nan("")}) {
    EXPECT_EQ(FixedNats::RoundUp(nats), FixedNats::Unpayable()) << nats;
  }
  EXPECT_TRUE(FixedNats::RoundUp(std::nextafter(8192.0, 0.0)).is_payable());
  EXPECT_FALSE(FixedNats::Unpayable().is_payable());
  EXPECT_EQ(FixedNats::Unpayable().ToNatsRoundedUp(), kInfinity);
  EXPECT_GT(FixedNats::Unpayable(), FixedNats::RoundDown(std::nextafter(8192.0, 0.0)));
}

TEST(FixedNatsTest, RoundingNoiseBelowZeroIsZero) {
  EXPECT_EQ(FixedNats::RoundUp(-1e-15), FixedNats());
  EXPECT_EQ(FixedNats::RoundUp(-0.0), FixedNats());
}

TEST(FixedNatsTest, AsADoubleItIsNeverLessThanItIs) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 10000; ++i) {
    const FixedNats nats =
        FixedNats::FromUnits(static_cast<std::int64_t>(random() >> (1 + i % 60)));
    EXPECT_GE(static_cast<long double>(nats.ToNatsRoundedUp()), Exact(nats));
    EXPECT_LE(static_cast<long double>(nats.ToNatsRoundedUp()), Exact(nats) * (1 + 0x1p-52L));
  }
  const FixedNats largest = FixedNats::FromUnits(std::numeric_limits<std::int64_t>::max() - 1);
  EXPECT_EQ(largest.ToNatsRoundedUp(), 8192);
}

TEST(FixedNatsTest, SumsAreExactAndSaturate) {
  const FixedNats tenth = FixedNats::RoundUp(0.1);
  FixedNats sum;
  for (int i = 0; i < 1000; ++i) sum = sum + tenth;
  EXPECT_EQ(sum.units(), 1000 * tenth.units());
  EXPECT_EQ(sum - tenth, FixedNats::FromUnits(999 * tenth.units()));

  const FixedNats large = FixedNats::RoundDown(5000);
  EXPECT_EQ(large + large, FixedNats::Unpayable());
  EXPECT_EQ(FixedNats::Unpayable() + FixedNats::FromUnits(1), FixedNats::Unpayable());
  EXPECT_EQ(FixedNats::Unpayable() + FixedNats::Unpayable(), FixedNats::Unpayable());
}

TEST(OutwardTest, IsNeverLessThanWhatWasComputedWithThisError) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    // Computed too small by the whole error.
    const double error = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52,
                                    -9 - static_cast<int>(random() % 42));
    const double computed = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52,
                                       static_cast<int>(random() % 60) - 50);
    const long double most =
        static_cast<long double>(computed) / (1 - static_cast<long double>(error));
    ASSERT_GE(Outward(computed, error), most) << error;
    ASSERT_LE(Outward(computed, error), most * (1 + 2.1L * error)) << "no more than it takes";
    ASSERT_LE(Outward(Inward(computed, error), error), computed);
    ASSERT_GE(Inward(computed, error), computed * (1 - 3.1 * error));
  }
  EXPECT_GE(Outward(3), 3 * (1 + 1e-11));
  EXPECT_EQ(Outward(0), 0);
  EXPECT_EQ(Outward(kInfinity), kInfinity);
  EXPECT_FALSE(FixedNats::RoundUp(Outward(std::nan(""))).is_payable());
}

TEST(FixedNatsDeathTest, RefusesWhatWouldBeABug) {
  EXPECT_DEATH(FixedNats::FromUnits(-1), "below zero");
  EXPECT_DEATH(FixedNats::RoundUp(-1e-9), "below zero");
  EXPECT_DEATH(FixedNats::RoundUp(-kInfinity), "below zero");
  EXPECT_DEATH(FixedNats::RoundDown(-1e-30), "a budget outside");
  EXPECT_DEATH(FixedNats::RoundDown(8192), "a budget outside");
  EXPECT_DEATH(FixedNats::RoundDown(std::nan("")), "a budget outside");
  EXPECT_DEATH(FixedNats() - FixedNats::FromUnits(1), "a difference below zero");
  EXPECT_DEATH(FixedNats::Unpayable() - FixedNats(), "a difference below zero");
}

}  // namespace fixed_nats_test
}  // namespace submix::accounting
