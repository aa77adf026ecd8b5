#include "submix/mechanism/baselines/all_or_public.h"

#include <algorithm>
#include <utility>

#include "submix/base/check.h"

namespace submix::mechanism {

AllOrPublicProposal::AllOrPublicProposal(base::ReleaseId release_id,
                                         std::vector<accounting::FixedNats> charges,
                                         std::vector<std::uint64_t> mixture,
                                         std::vector<std::uint64_t> public_law)
    : Proposal(release_id, std::move(charges)),
      mixture_(std::move(mixture)),
      public_law_(std::move(public_law)) {}

PrivateMixture AllOrPublicProposal::Mix(const std::vector<bool>& paid, base::RandomSource&) && {
  SUBMIX_CHECK(paid.size() == charges().size(), "who paid: one answer a part");
  const bool everybody = std::find(paid.begin(), paid.end(), false) == paid.end();
  return PrivateMixture(release_id(), std::move(everybody ? mixture_ : public_law_),
                        PaidCharges(paid));
}

}  // namespace submix::mechanism
