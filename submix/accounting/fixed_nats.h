// Privacy amounts as integers: what the ledger stores and adds. No floating-point sum can drift,
// and the direction of rounding is in the name (design contract 8).
#pragma once

#include <compare>
#include <cstdint>

namespace submix::accounting {

// A non-negative multiple of 2^-50 nats, or Unpayable (an infinite charge). Immutable value.
class FixedNats {
 public:
  static constexpr int kFractionBits = 50;

  constexpr FixedNats() = default;
  // Requires: units >= 0.
  static FixedNats FromUnits(std::int64_t units);
  // The least multiple >= nats: for charges. NaN, infinity and everything of 2^13 nats or more give
  // Unpayable(): no budget can hold them. Negative values give zero only within 1e-15 of it; more
  // is a bug (SUBMIX_CHECK).
  static FixedNats RoundUp(double nats);
  // The greatest multiple <= nats: for budgets. Requires: 0 <= nats < 2^13.
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

}  // namespace submix::accounting
