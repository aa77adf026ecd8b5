// The order of a Rényi divergence: 0 < order <= infinity.
#pragma once

#include <compare>
#include <limits>
#include <string>
#include <string_view>

#include "submix/base/status.h"

namespace submix::divergence {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Immutable value.
class RenyiOrder {
 public:
  // Errors: kInvalidArgument unless 0 < value <= infinity (so also for NaN).
  static base::StatusOr<RenyiOrder> Create(double value);
  // A number, or "inf" / "infinity". Errors: kInvalidArgument.
  static base::StatusOr<RenyiOrder> Parse(std::string_view text);
  // Kullback-Leibler.
  static constexpr RenyiOrder One() { return RenyiOrder(1); }
  // The papers' order.
  static constexpr RenyiOrder Two() { return RenyiOrder(2); }
  // The largest log ratio: pure differential privacy.
  static constexpr RenyiOrder Infinity() { return RenyiOrder(kInfinity); }

  double value() const { return value_; }
  bool is_one() const { return value_ == 1; }
  bool is_infinite() const { return value_ == kInfinity; }
  // The shortest text that Parse reads back to the same value: "2", "1.5", "inf".
  std::string ToString() const;

  auto operator<=>(const RenyiOrder&) const = default;

 private:
  explicit constexpr RenyiOrder(double value) : value_(value) {}

  double value_;
};

}  // namespace submix::divergence
