#include "submix/eval/measuring/user_budget.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submix/accounting/privacy_statement.h"
#include "submix/accounting/rdp_conversion.h"
#include "submix/accounting/user_level.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::eval {
namespace {

using accounting::RdpBound;
using base::StatusOr;
using divergence::RenyiOrder;

// What is declared when a promise has a delta.
constexpr double kDeclaredOrders[] = {3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
// The budgets that are tried, from nothing to this, are halved this often.
constexpr int kHalvings = 60;

EvaluationSetting Declared(const EvaluationSetting& asked, RenyiOrder order, double epsilon) {
  EvaluationSetting setting = asked;
  setting.mechanism.order = order;
  setting.epsilon = epsilon;
  setting.mechanism.target_leakage = epsilon / static_cast<double>(asked.queries);
  return setting;
}

// The cost of the declaration to one user, in the promise's terms.
StatusOr<double> UserCost(const EvaluationSetting& declared, const UserPromise& promise) {
  SUBMIX_ASSIGN_OR_RETURN(const auto mechanism, mechanism::MakeAnyMechanism(declared.mechanism));
  const auto statement = mechanism->Statement(accounting::FixedNats::RoundDown(declared.epsilon));
  if (!statement.proven || !statement.worst_case) {
    return base::FailedPreconditionError(
        declared.mechanism.name +
        ": nothing follows for users, because its bound is not proven for every data set");
  }
  const std::vector<RdpBound> bounds = accounting::StatedUserLevelBounds(statement);
  if (promise.delta > 0) {
    SUBMIX_ASSIGN_OR_RETURN(
        const auto best,
        accounting::BestEpsilon(bounds, promise.delta, accounting::ConversionKind::kImproved));
    return best.epsilon;
  }
  double least = std::numeric_limits<double>::infinity();
  for (const RdpBound& bound : bounds) {
    // A divergence grows with its order; the tolerance is that of Theorem 5's order.
    if (bound.order.value() >= promise.order.value() * (1 - 1e-12)) {
      least = std::min(least, bound.rdp);
    }
  }
  return least;
}

// The largest epsilon to declare at this order; 0 if none keeps the promise.
StatusOr<double> LargestEpsilon(const EvaluationSetting& asked, RenyiOrder order,
                                const UserPromise& promise) {
  double low = 0;
  double high = promise.epsilon;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    const auto cost = UserCost(Declared(asked, order, middle), promise);
    if (cost.status().code() == base::StatusCode::kFailedPrecondition) return cost.status();
    // A budget that is too small for a mechanism's rounding is no budget.
    const bool keeps = cost.ok() && *cost <= promise.epsilon;
    (keeps ? low : high) = middle;
    if (!cost.ok() && middle < promise.epsilon * 1e-6) break;
  }
  return low;
}

StatusOr<std::vector<RenyiOrder>> OrdersToTry(const UserPromise& promise) {
  std::vector<RenyiOrder> orders;
  if (promise.delta > 0) {
    for (const double order : kDeclaredOrders) orders.push_back(*RenyiOrder::Create(order));
    return orders;
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto part_order, accounting::PartOrderForUserOrder(promise.order));
  // A whole order, because its charges are much faster: 4 for 3.41, 16 for 15.5.
  SUBMIX_ASSIGN_OR_RETURN(const auto whole_order,
                          RenyiOrder::Create(std::ceil(part_order.value() * (1 - 1e-12))));
  // What is proved for users directly needs no higher order.
  return std::vector<RenyiOrder>{promise.order, whole_order};
}

}  // namespace

StatusOr<EvaluationSetting> KeepUserPromise(const EvaluationSetting& asked,
                                            const UserPromise& promise) {
  SUBMIX_ASSIGN_OR_RETURN(const auto orders, OrdersToTry(promise));
  double best = 0;
  EvaluationSetting kept = asked;
  for (const RenyiOrder order : orders) {
    SUBMIX_ASSIGN_OR_RETURN(const double epsilon, LargestEpsilon(asked, order, promise));
    if (!(epsilon / order.value() > best)) continue;
    best = epsilon / order.value();
    kept = Declared(asked, order, epsilon);
  }
  if (!(best > 0)) {
    return base::InvalidArgumentError(asked.mechanism.name + ": no budget keeps a promise of " +
                                      std::to_string(promise.epsilon) + " nats to users");
  }
  return kept;
}

}  // namespace submix::eval
