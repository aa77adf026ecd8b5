// What the papers' mechanisms propose: the ensemble's law if everybody paid, else the public one;
// and what the public model alone does, with one law for both.
#pragma once

#include <cstdint>
#include <vector>

#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

class AllOrPublicProposal final : public Proposal {
 public:
  // Both laws [V], of any total.
  AllOrPublicProposal(base::ReleaseId release_id, std::vector<accounting::FixedNats> charges,
                      std::vector<std::uint64_t> mixture, std::vector<std::uint64_t> public_law);

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource& random) && override;

 private:
  std::vector<std::uint64_t> mixture_;
  std::vector<std::uint64_t> public_law_;
};

}  // namespace submix::mechanism
