#include "submix/accounting/stated_bounds.h"

#include "submix/accounting/user_level.h"

namespace submix::accounting {

std::vector<RdpBound> StatedBounds(const PrivacyStatement& statement) {
  std::vector<RdpBound> bounds = {{statement.order, statement.epsilon.ToNatsRoundedUp()}};
  bounds.insert(bounds.end(), statement.further_bounds.begin(), statement.further_bounds.end());
  return bounds;
}

std::vector<RdpBound> StatedUserLevelBounds(const PrivacyStatement& statement) {
  if (!statement.user_level_bounds.empty()) return statement.user_level_bounds;
  const std::vector<RdpBound> part_bounds = StatedBounds(statement);
  // One user's records are in one part: replacing that part covers it.
  if (statement.adjacency == Adjacency::kReplace) return part_bounds;
  std::vector<RdpBound> bounds;
  for (const RdpBound& part : part_bounds) {
    const auto user = UserLevelFromPartOrder(part.order);
    if (user.ok()) bounds.push_back({user->order, user->factor * part.rdp});
  }
  return bounds;
}

}  // namespace submix::accounting
