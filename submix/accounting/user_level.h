// From parts to users (Theorem 5): a bound (a0, B) at part level, part replaced by the public
// model, that holds for every data set, bounds two worlds that differ in one user's records:
//     order a0^2 / (2 a0 - 1),   factor (2 a0 - 1) / (a0 - 1) on B,   2 B at order infinity.
// Condition: every user key lies in one part, chosen by a keyed hash whose key is drawn
// independently of the data, and parts are trained apart.
//
// The SubMix paper's own statements: Theorem C.1, order a0 / 2 and factor (2 a0 - 3) / (a0 - 2),
// needs a0 > 2 and says less at every order (the test compares); Corollary C.1.1, a factor of 2
// for pure epsilon, is Theorem 5 at order infinity.
#pragma once

#include "submix/base/status.h"
#include "submix/divergence/renyi_order.h"

namespace submix::accounting {

struct UserLevelFactor {
  divergence::RenyiOrder order = divergence::RenyiOrder::Infinity();  // of the user-level bound
  double factor = 2;                                                  // on the part-level nats
};

// What a part-level bound at `part_order` means for one user key. Errors: kInvalidArgument unless
// part_order > 1: nothing follows from order 1 and below.
base::StatusOr<UserLevelFactor> UserLevelFromPartOrder(divergence::RenyiOrder part_order);

// The part-level order a0 = a + sqrt(a^2 - a) to declare for a user-level bound at order a.
// Errors: kInvalidArgument unless user_order > 1.
base::StatusOr<divergence::RenyiOrder> PartOrderForUserOrder(divergence::RenyiOrder user_order);

}  // namespace submix::accounting
