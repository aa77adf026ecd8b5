#include "submix/mechanism/declaring/user_budget.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submix/accounting/fixed_nats.h"
#include "submix/accounting/privacy_statement.h"
#include "submix/accounting/rdp_conversion.h"
#include "submix/accounting/user_level.h"
#include "submix/base/number_text.h"
#include "submix/mechanism/declaring/recommended_options.h"

namespace submix::mechanism {
namespace {

using accounting::RdpBound;
using base::Status;
using base::StatusOr;
using divergence::RenyiOrder;

// What is declared when a promise has a delta.
constexpr double kDeclaredOrders[] = {3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
// The budgets that are tried, from nothing to this, are halved this often.
constexpr int kHalvings = 60;

Status CheckFitsALedger(double epsilon) {
  if (epsilon < accounting::FixedNats::kLimitNats || std::isnan(epsilon)) return base::OkStatus();
  return base::InvalidArgumentError("epsilon must be below 8192 nats, found " +
                                    base::NumberText(epsilon));
}

// Whether the public model's training took some of the same users' promise.
bool CountsTraining(const UserPromise& promise) {
  return promise.public_training && promise.public_training->same_users;
}

// What is asked for, under each declaration that is tried.
class Search {
 public:
  Search(const MechanismOptions& asked, std::int64_t tokens, const UserPromise& promise,
         const MechanismMaker& make)
      : asked_(asked), tokens_(tokens), promise_(promise), make_(make) {}

  PartBudget Declared(RenyiOrder order, double epsilon) const {
    PartBudget budget = {asked_, epsilon};
    budget.mechanism.order = order;
    budget.mechanism.target_leakage = epsilon / static_cast<double>(tokens_);
    return budget;
  }

  // The largest epsilon to declare at this order; 0 if none keeps the promise.
  StatusOr<double> LargestEpsilon(RenyiOrder order) const {
    double low = 0;
    double high = promise_.epsilon;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2;
      const auto cost = UserCost(Declared(order, middle));
      if (cost.status().code() == base::StatusCode::kFailedPrecondition) return cost.status();
      // A budget that is too small for a mechanism's rounding is no budget.
      const bool keeps = cost.ok() && *cost <= promise_.epsilon;
      (keeps ? low : high) = middle;
      if (!cost.ok() && middle < promise_.epsilon * 1e-6) break;
    }
    return low;
  }

  // The cost of the declaration to one user, in the promise's terms.
  StatusOr<double> UserCost(const PartBudget& declared) const {
    SUBMIX_ASSIGN_OR_RETURN(const auto mechanism, make_(declared.mechanism));
    const auto budget = accounting::FixedNats::RoundDown(declared.epsilon);
    auto statement = mechanism->Statement(budget);
    if (promise_.earlier_order) {
      statement = accounting::WithEarlierAnswers(statement, declared.mechanism.order, budget);
    }
    statement.public_keys = promise_.public_keys;
    if (!statement.proven || !statement.worst_case) {
      return base::FailedPreconditionError(
          declared.mechanism.name +
          ": nothing follows for users, because its bound is not proven for every data set");
    }
    SUBMIX_ASSIGN_OR_RETURN(const std::vector<RdpBound> bounds, UserBounds(statement));
    if (promise_.delta > 0) {
      SUBMIX_ASSIGN_OR_RETURN(
          const auto best,
          accounting::BestEpsilon(bounds, promise_.delta, accounting::ConversionKind::kImproved));
      return best.epsilon;
    }
    double least = std::numeric_limits<double>::infinity();
    for (const RdpBound& bound : bounds) {
      // A divergence grows with its order; the tolerance is that of Theorem 5's order.
      if (bound.order.value() >= promise_.order.value() * (1 - 1e-12)) {
        least = std::min(least, bound.rdp);
      }
    }
    return least;
  }

  StatusOr<std::vector<RdpBound>> UserBounds(const accounting::PrivacyStatement& statement) const {
    if (!CountsTraining(promise_)) return accounting::StatedUserLevelBounds(statement);
    std::vector<RdpBound> bounds =
        accounting::AddedUserBounds(statement, *promise_.public_training);
    if (!bounds.empty()) return bounds;
    return base::FailedPreconditionError(
        promise_.public_training->unit == accounting::PrivacyUnit::kUserKey
            ? "nothing follows for users of a public list above this public model, in which a user "
              "whose records are empty has trained, too; train it anew"
            : "nothing follows for users above this public model, whose training protects "
              "documents");
  }

  const MechanismOptions& asked_;
  const std::int64_t tokens_;
  const UserPromise& promise_;
  const MechanismMaker& make_;
};

StatusOr<std::vector<RenyiOrder>> OrdersToTry(const UserPromise& promise) {
  if (promise.earlier_order) return std::vector<RenyiOrder>{*promise.earlier_order};
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

StatusOr<PartBudget> KeepUserPromise(const MechanismOptions& asked, std::int64_t tokens,
                                     const UserPromise& promise, const MechanismMaker& make) {
  SUBMIX_RETURN_IF_ERROR(CheckFitsALedger(promise.epsilon));
  SUBMIX_ASSIGN_OR_RETURN(const auto orders, OrdersToTry(promise));
  const Search search(asked, tokens, promise, make);
  double best = 0;
  PartBudget kept;
  for (const RenyiOrder order : orders) {
    SUBMIX_ASSIGN_OR_RETURN(const double epsilon, search.LargestEpsilon(order));
    if (!(epsilon / order.value() > best)) continue;
    best = epsilon / order.value();
    kept = search.Declared(order, epsilon);
  }
  if (!(best > 0)) {
    return base::InvalidArgumentError(
        asked.name + ": no budget keeps a promise of " + base::NumberText(promise.epsilon) +
        " nats to users" +
        (CountsTraining(promise) ? ", from whom the public model's training took some" : "") +
        (promise.earlier_order ? " at order " + promise.earlier_order->ToString() +
                                     ", that of the earlier deployments"
                               : ""));
  }
  SUBMIX_ASSIGN_OR_RETURN(kept.user_epsilon, search.UserCost(kept));
  return kept;
}

StatusOr<PartBudget> DeclareBudget(const MechanismOptions& asked, const AskedBudget& budget,
                                   const MechanismMaker& make) {
  SUBMIX_RETURN_IF_ERROR(CheckFitsALedger(budget.epsilon));
  PartBudget declared = {asked, budget.epsilon};
  MechanismOptions& mechanism = declared.mechanism;
  mechanism.order = budget.order.value_or(RecommendedOrder());
  if (!budget.for_users) {
    if (!(mechanism.target_leakage > 0)) {
      mechanism.target_leakage = budget.epsilon / static_cast<double>(budget.tokens);
    }
    return declared;
  }
  if (mechanism.target_leakage > 0) {
    return base::InvalidArgumentError(
        "target leakage: follows from the promise where the unit is user; leave it out");
  }
  const double delta = budget.order ? 0 : budget.delta;
  return KeepUserPromise(mechanism, budget.tokens,
                         {.epsilon = budget.epsilon,
                          .order = mechanism.order,
                          .delta = delta,
                          .public_keys = budget.public_keys,
                          .earlier_order = budget.earlier_order,
                          .public_training = budget.public_training},
                         make);
}

}  // namespace submix::mechanism
