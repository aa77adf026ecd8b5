// The part-level budget that keeps a promise to users: what a deployment would have to declare so
// that one user key, wherever its records lie, is protected at the order and cost that is asked
// for.
#pragma once

#include <cstdint>
#include <string>

#include "submix/base/status.h"
#include "submix/divergence/renyi_order.h"
#include "submix/eval/measuring/evaluation.h"

namespace submix::eval {

// A promise to one user key, records changed, added or removed.
struct UserPromise {
  double epsilon = 2;  // nats at `order` or, with a delta, of (epsilon, delta)
  divergence::RenyiOrder order = divergence::RenyiOrder::Two();  // without meaning with a delta
  double delta = 0;                                              // 0: Rényi
};

// `asked` with the order and the largest epsilon to declare, and the target leakage that is its
// share of an answer. With a delta the declared order is the one, of a public list, that leaves
// most per order: charges grow with it; without, a whole order, at which they are fast. Errors:
// kFailedPrecondition if nothing follows for users from this mechanism (it is not proven for every
// data set); kInvalidArgument for options out of range, or a promise that no budget keeps.
base::StatusOr<EvaluationSetting> KeepUserPromise(const EvaluationSetting& asked,
                                                  const UserPromise& promise);

}  // namespace submix::eval
