#include "submix/mechanism/mechanism.h"

#include "submix/base/check.h"

namespace submix::mechanism {

std::vector<accounting::FixedNats> Proposal::PaidCharges(const std::vector<bool>& paid) const {
  SUBMIX_CHECK(paid.size() == charges_.size(), "who paid: one answer a part");
  std::vector<accounting::FixedNats> result(charges_.size());
  for (std::size_t part = 0; part < result.size(); ++part) {
    if (paid[part]) result[part] = charges_[part];
  }
  return result;
}

PrivateScreen Proposal::Screen(const std::vector<bool>&) && {
  SUBMIX_CHECK(false, "this proposal leads to a mixture");
}

}  // namespace submix::mechanism
