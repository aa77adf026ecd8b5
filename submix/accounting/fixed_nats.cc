#include "submix/accounting/fixed_nats.h"

#include <cmath>
#include <limits>

#include "submix/base/check.h"

namespace submix::accounting {
namespace {

constexpr std::int64_t kUnpayableUnits = std::numeric_limits<std::int64_t>::max();
// What rounding may leave of a charge that is exactly zero.
constexpr double kNegativeTolerance = 1e-15;

// Exact: scaling by a power of two changes the exponent only, and no subnormal can arise upwards.
double ScaleToUnits(double nats) { return std::ldexp(nats, FixedNats::kFractionBits); }

}  // namespace

FixedNats FixedNats::FromUnits(std::int64_t units) {
  SUBMIX_CHECK(units >= 0, "a privacy amount below zero");
  FixedNats result;
  result.units_ = units;
  return result;
}

FixedNats FixedNats::Unpayable() { return FromUnits(kUnpayableUnits); }

FixedNats FixedNats::RoundUp(double nats) {
  SUBMIX_CHECK(!(nats < -kNegativeTolerance), "a charge below zero");
  if (!(nats < kLimitNats)) return Unpayable();
  if (nats <= 0) return FixedNats();
  // ceil of a double below 2^63 is at most 2^63 - 1024, so the cast fits.
  return FromUnits(static_cast<std::int64_t>(std::ceil(ScaleToUnits(nats))));
}

FixedNats FixedNats::RoundDown(double nats) {
  SUBMIX_CHECK(nats >= 0 && nats < kLimitNats, "a budget outside [0, 2^13) nats");
  return FromUnits(static_cast<std::int64_t>(std::floor(ScaleToUnits(nats))));
}

bool FixedNats::is_payable() const { return units_ != kUnpayableUnits; }

double FixedNats::ToNatsRoundedUp() const {
  if (!is_payable()) return std::numeric_limits<double>::infinity();
  // The conversion rounds to nearest; 2^63 itself is reached from just below, where it must not be
  // cast back.
  double units = static_cast<double>(units_);
  if (units < 0x1p63 && static_cast<std::int64_t>(units) < units_) {
    units = std::nextafter(units, std::numeric_limits<double>::infinity());
  }
  return std::ldexp(units, -kFractionBits);
}

// With e the error and d = 2^-53: the true bound is at most nats / (1 - e) <= nats (1 + e + 2 e^2),
// and this is at least nats (1 + 2 e) (1 - d)^2, which is more: e - 2 e^2 >= 3 d.
double Outward(double nats, double relative_error) { return nats * (1 + 2 * relative_error); }

// (1 - 3 e) (1 + 2 e) (1 + d)^4 < 1, as e >= 8 d.
double Inward(double limit_nats, double relative_error) {
  return limit_nats * (1 - 3 * relative_error);
}

FixedNats operator+(FixedNats a, FixedNats b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a.units_, b.units_, &sum)) return FixedNats::Unpayable();
  return FixedNats::FromUnits(sum);
}

FixedNats operator-(FixedNats a, FixedNats b) {
  SUBMIX_CHECK(a.is_payable() && b.is_payable() && b <= a, "a difference below zero");
  return FixedNats::FromUnits(a.units_ - b.units_);
}

}  // namespace submix::accounting
