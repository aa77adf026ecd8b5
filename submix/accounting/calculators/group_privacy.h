// From one user to several at once: users who share a secret, or all users of a part. At a fixed
// order the cost of a group of m is *not* m times the cost of one, as SubMix's Theorem
// C.2, section C.3 and Theorem D.2 have it: for Gaussian noise it is m^2 times.
#pragma once

#include "submix/accounting/rdp_conversion.h"
#include "submix/base/status.h"

namespace submix::accounting {

// For groups of up to 2^doublings (Mironov 2017, Proposition 2): (a / 2^c, 3^c nats) for c
// doublings of a bound at order a. At order infinity 2^c, the triangle inequality. Errors:
// kInvalidArgument unless doublings is in [0, 30] and, for c > 0 and finite a, a >= 2^(c+1).
base::StatusOr<RdpBound> GroupBound(const RdpBound& one_user, int doublings);

// The least doublings whose groups hold `group_size` users. Requires: group_size >= 1.
int DoublingsFor(double group_size);

}  // namespace submix::accounting
