#include "submix/mechanism/baselines/secret_subset.h"

#include <cmath>
#include <string>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/number_text.h"

namespace submix::mechanism {
namespace {

// True with the probability that the options declare, to 2^-63.
bool DrawPart(base::RandomSource& random, double probability) {
  constexpr std::uint64_t kDenominator = std::uint64_t{1} << 63;
  return random.NextBernoulli(static_cast<std::uint64_t>(probability * 0x1p63), kDenominator);
}

}  // namespace

base::Status CheckSamplingProbability(const MechanismOptions& options) {
  if (options.sampling_probability > 0 && options.sampling_probability <= 1) {
    return base::OkStatus();
  }
  return base::InvalidArgumentError("sampling probability: expected a number in (0, 1], found " +
                                    base::NumberText(options.sampling_probability));
}

double ProbabilityOfAnyPart(const MechanismOptions& options) {
  return -std::expm1(options.num_parts * std::log1p(-options.sampling_probability));
}

SecretSubsetProposal::SecretSubsetProposal(base::ReleaseId release_id,
                                           std::vector<accounting::FixedNats> charges,
                                           LawWeights public_law, double sampling_probability,
                                           LawOf law_of)
    : Proposal(release_id, std::move(charges)),
      public_law_(std::move(public_law)),
      sampling_probability_(sampling_probability),
      law_of_(std::move(law_of)) {}

PrivateMixture SecretSubsetProposal::Mix(const std::vector<bool>& paid,
                                         base::RandomSource& random) && {
  SUBMIX_CHECK(paid.size() == charges().size(), "who paid: one answer a part");
  const std::size_t num_parts = paid.size();
  std::vector<bool> drawn(num_parts);
  std::uint64_t size = 0;
  for (std::size_t part = 0; part < num_parts; ++part) {
    drawn[part] = DrawPart(random, sampling_probability_);
    size += drawn[part] ? 1 : 0;
  }
  const std::uint64_t only_public = size == 0 ? ~std::uint64_t{0} : 0;
  std::vector<std::uint64_t> weights(public_law_.size());
  for (std::size_t x = 0; x < weights.size(); ++x) weights[x] = public_law_[x] & only_public;
  for (std::size_t part = 0; part < num_parts; ++part) {
    const LawWeights law = law_of_(static_cast<int>(part), size);
    const std::uint64_t of_part = drawn[part] && paid[part] ? ~std::uint64_t{0} : 0;
    const std::uint64_t of_public = drawn[part] && !paid[part] ? ~std::uint64_t{0} : 0;
    for (std::size_t x = 0; x < weights.size(); ++x) {
      weights[x] += (law[x] & of_part) + (public_law_[x] & of_public);
    }
  }
  return PrivateMixture(release_id(), std::move(weights), PaidCharges(paid));
}

}  // namespace submix::mechanism
