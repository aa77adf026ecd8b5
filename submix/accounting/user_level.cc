#include "submix/accounting/user_level.h"

#include <cmath>
#include <string>

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;

base::Status CheckAboveOne(const char* level, RenyiOrder order) {
  if (order > RenyiOrder::One()) return base::OkStatus();
  return base::InvalidArgumentError(std::string(level) +
                                    " order: expected one above 1, because from order 1 and below "
                                    "nothing follows for users; found " +
                                    order.ToString());
}

}  // namespace

base::StatusOr<UserLevelFactor> UserLevelFromPartOrder(RenyiOrder part_order) {
  SUBMIX_RETURN_IF_ERROR(CheckAboveOne("part-level", part_order));
  if (part_order.is_infinite()) return UserLevelFactor{RenyiOrder::Infinity(), 2};
  const double a0 = part_order.value();
  // Divided through by a0, so that no order is too large to square.
  SUBMIX_ASSIGN_OR_RETURN(const RenyiOrder order, RenyiOrder::Create(a0 / (2 - 1 / a0)));
  return UserLevelFactor{order, 1 + a0 / (a0 - 1)};
}

base::StatusOr<RenyiOrder> PartOrderForUserOrder(RenyiOrder user_order) {
  SUBMIX_RETURN_IF_ERROR(CheckAboveOne("user-level", user_order));
  if (user_order.is_infinite()) return RenyiOrder::Infinity();
  const double a = user_order.value();
  return RenyiOrder::Create(a + std::sqrt(a) * std::sqrt(a - 1));
}

}  // namespace submix::accounting
