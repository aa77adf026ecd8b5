#include "submix/accounting/calculators/group_privacy.h"

#include <cmath>
#include <string>

namespace submix::accounting {

base::StatusOr<RdpBound> GroupBound(const RdpBound& one_user, int doublings) {
  if (doublings < 0 || doublings > 30) {
    return base::InvalidArgumentError("group of 2^c: expected c from 0 to 30, found " +
                                      std::to_string(doublings));
  }
  if (doublings == 0) return one_user;
  if (one_user.order.is_infinite()) {
    return RdpBound{one_user.order, std::ldexp(one_user.rdp, doublings)};
  }
  if (!(one_user.order.value() >= std::ldexp(2.0, doublings))) {
    return base::InvalidArgumentError(
        "group of 2^" + std::to_string(doublings) + ": expected an order of at least " +
        std::to_string(2LL << doublings) + ", found " + one_user.order.ToString());
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto order, divergence::RenyiOrder::Create(
                                                std::ldexp(one_user.order.value(), -doublings)));
  return RdpBound{order, std::pow(3.0, doublings) * one_user.rdp};
}

int DoublingsFor(double group_size) { return static_cast<int>(std::ceil(std::log2(group_size))); }

}  // namespace submix::accounting
