#include "submix/accounting/rdp_conversion.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "submix/base/number_text.h"

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;

base::Status CheckOrder(RenyiOrder order, ConversionKind kind) {
  if (kind == ConversionKind::kClassic && !(order.value() > 1)) {
    return base::InvalidArgumentError(
        "classic conversion to (epsilon, delta): expected an order above 1, found " +
        order.ToString());
  }
  if (kind == ConversionKind::kImproved && !(order.value() >= kLeastImprovedOrder)) {
    return base::InvalidArgumentError(
        "improved conversion to (epsilon, delta): expected an order of at least 1.01, found " +
        order.ToString());
  }
  return base::OkStatus();
}

base::Status CheckDelta(double delta) {
  if (delta > 0 && delta < 1) return base::OkStatus();
  return base::InvalidArgumentError("delta: expected a number in (0, 1), found " +
                                    base::NumberText(delta));
}

base::Status CheckNats(const char* name, double nats) {
  if (nats >= 0) return base::OkStatus();
  return base::InvalidArgumentError(std::string(name) + ": expected a number >= 0, found " +
                                    base::NumberText(nats));
}

// What the conversion adds to rdp, at any order above 1; 0 at order infinity.
double Surcharge(RenyiOrder order, double delta, ConversionKind kind) {
  if (order.is_infinite()) return 0;
  const double a = order.value();
  if (kind == ConversionKind::kClassic) return -std::log(delta) / (a - 1);
  return std::log1p(-1 / a) - (std::log(a) + std::log(delta)) / (a - 1);
}

// Bretagnolle and Huber: at this rdp the total variation, which is delta at epsilon 0.
double TotalVariationBound(double rdp) { return std::sqrt(-std::expm1(-rdp)); }

constexpr double kLeastExcess = 0.01;  // order - 1
constexpr double kMostExcess = 65535;
constexpr double kExcessRatio = 1.08;
constexpr int kIntegersTo = 64;

}  // namespace

std::vector<RenyiOrder> DefaultOrders() {
  std::vector<double> values;
  for (int order = 2; order <= kIntegersTo; ++order) values.push_back(order);
  for (double excess = kLeastExcess; excess < kMostExcess; excess *= kExcessRatio) {
    // Above the integers' range integers again: their formulas are sums, not integrals.
    values.push_back(1 + excess < kIntegersTo ? 1 + excess : std::floor(1 + excess));
  }
  values.push_back(1 + kMostExcess);
  std::sort(values.begin(), values.end());
  std::vector<RenyiOrder> orders;
  for (const double value : values) orders.push_back(RenyiOrder::Create(value).value());
  orders.push_back(RenyiOrder::Infinity());
  return orders;
}

std::vector<RenyiOrder> IntegerOrders(int last) {
  std::vector<RenyiOrder> orders;
  for (int order = 2; order <= last; ++order) orders.push_back(RenyiOrder::Create(order).value());
  return orders;
}

base::StatusOr<double> EpsilonForDelta(const RdpBound& bound, double delta, ConversionKind kind) {
  SUBMIX_RETURN_IF_ERROR(CheckOrder(bound.order, kind));
  SUBMIX_RETURN_IF_ERROR(CheckNats("rdp", bound.rdp));
  SUBMIX_RETURN_IF_ERROR(CheckDelta(delta));
  if (kind == ConversionKind::kImproved && delta >= TotalVariationBound(bound.rdp)) return 0.0;
  return std::max(0.0, bound.rdp + Surcharge(bound.order, delta, kind));
}

base::StatusOr<BestConversion> BestEpsilon(std::span<const RdpBound> bounds, double delta,
                                           ConversionKind kind) {
  std::optional<BestConversion> best;
  base::Status last_error = base::InvalidArgumentError("no bound to convert");
  for (const RdpBound& bound : bounds) {
    last_error = CheckOrder(bound.order, kind);
    if (!last_error.ok()) continue;
    SUBMIX_ASSIGN_OR_RETURN(const double epsilon, EpsilonForDelta(bound, delta, kind));
    if (!best || epsilon < best->epsilon) best = BestConversion{bound.order, bound.rdp, epsilon};
  }
  if (!best) return last_error;
  return *best;
}

base::StatusOr<double> DeltaForEpsilon(const RdpBound& bound, double epsilon, ConversionKind kind) {
  SUBMIX_RETURN_IF_ERROR(CheckOrder(bound.order, kind));
  SUBMIX_RETURN_IF_ERROR(CheckNats("rdp", bound.rdp));
  SUBMIX_RETURN_IF_ERROR(CheckNats("epsilon", epsilon));
  if (std::isinf(epsilon)) return 0.0;
  const double cap = kind == ConversionKind::kImproved ? TotalVariationBound(bound.rdp) : 1.0;
  if (bound.order.is_infinite()) return bound.rdp <= epsilon ? 0.0 : cap;
  const double a = bound.order.value();
  double log_delta = (a - 1) * (bound.rdp - epsilon);
  if (kind == ConversionKind::kImproved) log_delta += (a - 1) * std::log1p(-1 / a) - std::log(a);
  return std::min(cap, std::exp(log_delta));
}

base::StatusOr<double> RdpForEpsilon(RenyiOrder order, const EpsilonBound& target,
                                     ConversionKind kind) {
  SUBMIX_RETURN_IF_ERROR(CheckOrder(order, kind));
  SUBMIX_RETURN_IF_ERROR(CheckNats("epsilon", target.epsilon));
  SUBMIX_RETURN_IF_ERROR(CheckDelta(target.delta));
  const double rdp = target.epsilon - Surcharge(order, target.delta, kind);
  if (kind == ConversionKind::kImproved) {
    // Below this rdp the total variation alone is within delta.
    return std::max(rdp, -std::log1p(-target.delta * target.delta));
  }
  if (rdp >= 0) return rdp;
  return base::InvalidArgumentError(
      "epsilon " + base::NumberText(target.epsilon) + " is out of reach at order " +
      order.ToString() + ": the conversion alone costs " + base::NumberText(target.epsilon - rdp) +
      "; raise the order or delta");
}

}  // namespace submix::accounting
