// The part-level budget that keeps a promise to users: what a deployment has to declare so that one
// user key, wherever its records lie, is protected at the cost that is asked for. No soundness
// depends on it: what a declaration promises is said by its mechanism's statement.
#pragma once

#include <cstdint>
#include <optional>

#include "submix/accounting/trained_public.h"
#include "submix/base/status.h"
#include "submix/divergence/renyi_order.h"
#include "submix/mechanism/mechanism_maker.h"

namespace submix::mechanism {

// A promise to one user key: records changed, added or removed or, with public_keys, emptied.
struct UserPromise {
  double epsilon = 2;  // nats at `order` or, with a delta, of (epsilon, delta)
  divergence::RenyiOrder order = divergence::RenyiOrder::Two();  // without meaning with a delta
  double delta = 0;                                              // 0: Rényi
  bool public_keys = false;  // each part is one user of a public list
  // That of earlier deployments, for whose tokens the budget pays, too (Theorem 16): the only one
  // that can be declared then.
  std::optional<divergence::RenyiOrder> earlier_order = {};
  // That of the model below, whose loss counts as well where its users may be the same (Theorem
  // 15).
  std::optional<accounting::PublicCost> public_training = {};
};

// What is declared of parts. The budget is `tokens` times the target leakage.
struct PartBudget {
  MechanismOptions mechanism;  // with its order and target leakage
  double epsilon = 0;          // nats at that order, of every part
  double user_epsilon = 0;     // what it costs a user, as promised; 0: nothing was asked for users
};

// `asked` with the order and the largest epsilon to declare, and the target leakage that is the
// share of one of `tokens`. With a delta the declared order is the one, of a public list,
// that leaves most per order: charges grow with it; without, a whole order, at which they are fast.
// Requires: tokens >= 1. Errors: kFailedPrecondition if nothing follows for users from this
// mechanism (it is not proven for every data set) or above that training; kInvalidArgument for
// options out of range, an epsilon that no ledger can hold, or a promise that no budget keeps;
// those of `make`.
base::StatusOr<PartBudget> KeepUserPromise(const MechanismOptions& asked, std::int64_t tokens,
                                           const UserPromise& promise, const MechanismMaker& make);

// What an operator asks of a budget.
struct AskedBudget {
  double epsilon = 2;      // of every part: nats at the order; for users: as in UserPromise
  bool for_users = false;  // to whom epsilon is promised
  std::optional<divergence::RenyiOrder> order =
      {};                      // none: RecommendedOrder(); for users: by delta
  double delta = 0;            // of the promise to users without an order
  std::int64_t tokens = 1024;  // that every part can surely pay for; without meaning beside a
                               // target leakage
  bool public_keys = false;    // as in UserPromise
  std::optional<divergence::RenyiOrder> earlier_order = {};    // as in UserPromise
  std::optional<accounting::PublicCost> public_training = {};  // as in UserPromise
};

// What to declare for it: `asked` with its order, the epsilon, and the target leakage, which
// `asked` may give where the promise is to parts. Errors: kInvalidArgument for an epsilon that no
// ledger can hold, or a target leakage beside a promise to users; those of KeepUserPromise.
base::StatusOr<PartBudget> DeclareBudget(const MechanismOptions& asked, const AskedBudget& budget,
                                         const MechanismMaker& make);

}  // namespace submix::mechanism
