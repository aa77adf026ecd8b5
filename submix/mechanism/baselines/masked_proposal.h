// A proposal from which some parts were taken out: they pay nothing and the public model stands in
// for them, with the same work as if they took part.
#pragma once

#include <memory>
#include <vector>

#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

class MaskedProposal final : public Proposal {
 public:
  // Requires: takes_part.size() == K, !proposal->leads_to_screen().
  MaskedProposal(std::unique_ptr<Proposal> proposal, std::vector<bool> takes_part);

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource& random) && override;

 private:
  std::unique_ptr<Proposal> proposal_;
  std::vector<bool> takes_part_;  // [K]
};

}  // namespace submix::mechanism
