#include "submix/mechanism/baselines/masked_proposal.h"

#include <utility>

namespace submix::mechanism {
namespace {

std::vector<accounting::FixedNats> Masked(const std::vector<accounting::FixedNats>& charges,
                                          const std::vector<bool>& takes_part) {
  std::vector<accounting::FixedNats> masked(charges.size());
  for (std::size_t part = 0; part < charges.size(); ++part) {
    if (takes_part[part]) masked[part] = charges[part];
  }
  return masked;
}

}  // namespace

MaskedProposal::MaskedProposal(std::unique_ptr<Proposal> proposal, std::vector<bool> takes_part)
    : Proposal(proposal->release_id(), Masked(proposal->charges(), takes_part)),
      proposal_(std::move(proposal)),
      takes_part_(std::move(takes_part)) {}

PrivateMixture MaskedProposal::Mix(const std::vector<bool>& paid, base::RandomSource& random) && {
  std::vector<bool> both(paid.size());
  for (std::size_t part = 0; part < paid.size(); ++part)
    both[part] = paid[part] && takes_part_[part];
  return std::move(*proposal_).Mix(both, random);
}

}  // namespace submix::mechanism
