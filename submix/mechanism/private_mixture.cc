#include "submix/mechanism/private_mixture.h"

#include <limits>
#include <utility>

#include "submix/base/check.h"

namespace submix::mechanism {

PrivateMixture::PrivateMixture(base::ReleaseId release_id, std::vector<std::uint64_t> weights,
                               std::vector<accounting::FixedNats> charges)
    : release_id_(release_id), weights_(std::move(weights)), charges_(std::move(charges)) {
  constexpr std::uint64_t kLargestTotal = std::numeric_limits<std::int64_t>::max();
  for (const std::uint64_t weight : weights_) {
    SUBMIX_CHECK(weight <= kLargestTotal - total_, "weights of 2^63 or more in all");
    total_ += weight;
  }
  SUBMIX_CHECK(total_ > 0, "a mixture without mass");
}

std::size_t PrivateMixture::Draw(base::RandomSource& random) const {
  SUBMIX_CHECK(!weights_.empty(), "a mixture is drawn from once");
  std::uint64_t left = random.NextBelow(total_);
  std::size_t token = 0;
  while (left >= weights_[token]) left -= weights_[token++];
  return token;
}

}  // namespace submix::mechanism
