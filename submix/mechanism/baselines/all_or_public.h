// What the papers' mechanisms propose: the ensemble's law if everybody paid, else the public one;
// and what the public model alone does, with one law for both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "submix/base/check.h"
#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

class AllOrPublicProposal final : public Proposal {
 public:
  // Both laws [V], of any total.
  AllOrPublicProposal(base::ReleaseId release_id, std::vector<accounting::FixedNats> charges,
                      std::vector<std::uint64_t> mixture, std::vector<std::uint64_t> public_law)
      : Proposal(release_id, std::move(charges)),
        mixture_(std::move(mixture)),
        public_law_(std::move(public_law)) {}

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource&) && override {
    SUBMIX_CHECK(paid.size() == charges().size(), "who paid: one answer a part");
    const bool everybody = std::find(paid.begin(), paid.end(), false) == paid.end();
    return PrivateMixture(release_id(), std::move(everybody ? mixture_ : public_law_),
                          PaidCharges(paid));
  }

 private:
  std::vector<std::uint64_t> mixture_;
  std::vector<std::uint64_t> public_law_;
};

}  // namespace submix::mechanism
