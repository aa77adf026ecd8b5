#include "submix/mechanism/mean_mixture.h"

#include <algorithm>
#include <array>
#include <utility>

#include "submix/base/check.h"
#include "submix/mechanism/weight_kernels.h"

namespace submix::mechanism {

PartShifts::PartShifts(int num_parts, std::size_t support_size)
    : num_parts_(num_parts),
      support_size_(support_size),
      sits_out_(static_cast<std::size_t>(num_parts), false),
      shifts_(std::make_unique_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(num_parts) *
                                                             support_size)) {}

std::span<std::int64_t> PartShifts::row(int part) {
  return {shifts_.get() + static_cast<std::size_t>(part) * support_size_, support_size_};
}

std::span<const std::int64_t> PartShifts::row(int part) const {
  return {shifts_.get() + static_cast<std::size_t>(part) * support_size_, support_size_};
}

MeanProposal::MeanProposal(base::ReleaseId release_id, std::vector<accounting::FixedNats> charges,
                           std::vector<std::uint64_t> public_weights, PartShifts shifts)
    : Proposal(release_id, std::move(charges)),
      public_weights_(std::move(public_weights)),
      shifts_(std::move(shifts)) {
  SUBMIX_CHECK(this->charges().size() == static_cast<std::size_t>(shifts_.num_parts()) &&
                   public_weights_.size() == shifts_.support_size(),
               "charges and shifts of the same parts and tokens");
}

PrivateMixture MeanProposal::Mix(const std::vector<bool>& paid, base::RandomSource&) && {
  const int num_parts = shifts_.num_parts();
  SUBMIX_CHECK(paid.size() == static_cast<std::size_t>(num_parts), "who paid: one answer a part");
  std::vector<std::uint64_t> weights = std::move(public_weights_);
  std::array<std::int64_t, kBlockTokens> sums;
  for (std::size_t begin = 0; begin < weights.size(); begin += kBlockTokens) {
    const std::size_t count = std::min(kBlockTokens, weights.size() - begin);
    for (std::size_t x = 0; x < count; ++x) {
      sums[x] = static_cast<std::int64_t>(weights[begin + x]) * num_parts;
    }
    for (int part = 0; part < num_parts; ++part) {
      const bool takes_part = paid[static_cast<std::size_t>(part)] && !shifts_.sits_out(part);
      AddMasked(shifts_.row(part).data() + begin, takes_part ? -1 : 0, count, sums.data());
    }
    for (std::size_t x = 0; x < count; ++x) {
      weights[begin + x] = static_cast<std::uint64_t>(sums[x]);
    }
  }
  return PrivateMixture(release_id(), std::move(weights), PaidCharges(paid));
}

}  // namespace submix::mechanism
