#include "submix/mechanism/mean_mixture.h"

#include <utility>

#include "submix/base/check.h"
#include "submix/mechanism/kernels/weight_kernels.h"

namespace submix::mechanism {

MeanProposal::MeanProposal(base::ReleaseId release_id, std::vector<accounting::FixedNats> charges,
                           PublicWeights base, std::vector<PartShift> shifts,
                           const base::ForEach& for_each)
    : Proposal(release_id, std::move(charges)),
      base_(std::move(base)),
      shifts_(std::move(shifts)),
      for_each_(for_each) {
  SUBMIX_CHECK(this->charges().size() == shifts_.size() &&
                   shifts_.size() == static_cast<std::size_t>(base_.num_parts()),
               "charges and shifts of the same parts");
}

PrivateMixture MeanProposal::Mix(const std::vector<bool>& paid, base::RandomSource&) && {
  SUBMIX_CHECK(paid.size() == shifts_.size(), "who paid: one answer a part");
  const std::size_t top = base_.top_token();
  std::vector<std::uint64_t> weights = std::move(base_).TakeWeights();
  std::int64_t top_shift = 0;
  for (std::size_t i = 0; i < shifts_.size(); ++i) top_shift += paid[i] ? shifts_[i].top_shift : 0;
  const std::int64_t top_weight =
      static_cast<std::int64_t>(shifts_.size() * weights[top]) + top_shift;
  ForEachBlock(for_each_, weights.size(), [&](std::size_t begin, std::size_t count) {
    MultiplyWeights(shifts_.size(), count, weights.data() + begin);
    for (std::size_t i = 0; i < shifts_.size(); ++i) {
      shifts_[i].direction.AddFloors(begin, count, paid[i] ? shifts_[i].scale : 0,
                                     weights.data() + begin);
    }
  });
  weights[top] = static_cast<std::uint64_t>(top_weight);
  return PrivateMixture(release_id(), std::move(weights), PaidCharges(paid));
}

}  // namespace submix::mechanism
