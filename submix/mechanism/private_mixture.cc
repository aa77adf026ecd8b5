#include "submix/mechanism/private_mixture.h"

#include <utility>

#include "submix/base/check.h"

namespace submix::mechanism {

PrivateMixture::PrivateMixture(base::ReleaseId release_id, std::vector<std::uint64_t> weights,
                               std::vector<accounting::FixedNats> charges)
    : release_id_(release_id), weights_(std::move(weights)), charges_(std::move(charges)) {
  // Upper and lower halves apart: neither sum can overflow, and the compiler vectorises both.
  constexpr std::uint64_t kLowerHalf = 0xffffffff;
  SUBMIX_CHECK(weights_.size() <= kLowerHalf, "a support of 2^32 tokens or more");
  std::uint64_t upper = 0;
  std::uint64_t lower = 0;
  for (const std::uint64_t weight : weights_) {
    upper += weight >> 32;
    lower += weight & kLowerHalf;
  }
  upper += lower >> 32;
  SUBMIX_CHECK(upper < std::uint64_t{1} << 31, "weights of 2^63 or more in all");
  total_ = (upper << 32) + (lower & kLowerHalf);
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
