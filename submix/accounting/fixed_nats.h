// Privacy amounts as integers: what the ledger stores and adds. No floating-point sum can drift,
// and the direction of rounding is in the name (contract 8).
#pragma once

#include <compare>
#include <cstdint>

namespace submix::accounting {

// A non-negative multiple of 2^-50 nats, or Unpayable (an infinite charge). Immutable value.
class FixedNats {
 public:
  static constexpr int kFractionBits = 50;
  // 2^13 nats are 2^63 units: the first amount that does not fit.
  static constexpr double kLimitNats = 8192;

  constexpr FixedNats() = default;
  // Requires: units >= 0.
  static FixedNats FromUnits(std::int64_t units);
  // The least multiple >= nats: for charges. NaN, infinity and everything of kLimitNats or more
  // give Unpayable(): no budget can hold them. Negative values give zero only within 1e-15 of it;
  // more is a bug (SUBMIX_CHECK).
  static FixedNats RoundUp(double nats);
  // The greatest multiple <= nats: for budgets. Requires: 0 <= nats < kLimitNats.
  static FixedNats RoundDown(double nats);
  // More than any budget.
  static FixedNats Unpayable();

  std::int64_t units() const { return units_; }
  bool is_payable() const;
  // The exact value as a double is not always representable: rounded up. Unpayable gives infinity.
  double ToNatsRoundedUp() const;

  // Saturates at Unpayable.
  friend FixedNats operator+(FixedNats a, FixedNats b);
  // Requires: b <= a, both payable.
  friend FixedNats operator-(FixedNats a, FixedNats b);
  auto operator<=>(const FixedNats&) const = default;

 private:
  std::int64_t units_ = 0;
};

// More than the relative error of every formula of divergence/ and accounting/ that a charge or a
// stated bound comes from (each header says its own: 1e-11 at most), and of ten operations after it
// (2^-53 each).
inline constexpr double kBoundError = 0x1p-36;  // 1.5e-11

// A bound that was computed with this relative error at most, as it is charged and stated: never
// less than the true one. Requires: nats >= 0, infinity or NaN, which stays NaN; an error between
// 2^-50 and 2^-8.
double Outward(double nats, double relative_error = kBoundError);
// What a bound may be computed to be, so that Outward of it is within the limit.
double Inward(double limit_nats, double relative_error = kBoundError);

// For bounds at other orders, and for users, of a mechanism whose parameter is set by Inward: so
// wide that they hold for every parameter within the whole limit, as a ledger's older answers may
// have. (Such a bound grows at most with the square of the one that binds: 6 kBoundError.)
inline constexpr double kAnyChoiceError = 4 * kBoundError;

}  // namespace submix::accounting
