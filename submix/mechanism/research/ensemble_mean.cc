#include "submix/mechanism/research/ensemble_mean.h"

#include <string>
#include <utility>
#include <vector>

#include "submix/mechanism/baselines/all_or_public.h"
#include "submix/mechanism/baselines/part_law.h"
#include "submix/mechanism/kernels/weight_kernels.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {

base::StatusOr<std::unique_ptr<EnsembleMean>> EnsembleMean::Create(
    const MechanismOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckMechanismOptions(options));
  return std::unique_ptr<EnsembleMean>(new EnsembleMean(options));
}

accounting::PrivacyStatement EnsembleMean::Statement(accounting::FixedNats) const {
  accounting::PrivacyStatement statement;
  statement.mechanism = name();
  statement.unit = accounting::PrivacyUnit::kPart;
  statement.adjacency = accounting::Adjacency::kNull;
  statement.order = options_.order;
  statement.epsilon = accounting::FixedNats::Unpayable();
  statement.worst_case = true;
  statement.proven = false;
  statement.proof = "not private: the mean of all members, for evaluation and attacks only";
  return statement;
}

base::StatusOr<std::unique_ptr<Proposal>> EnsembleMean::Propose(
    const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
    base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  SUBMIX_RETURN_IF_ERROR(CheckPublicPmf(predictions.public_pmf));
  const std::size_t top = LargestIndex(predictions.public_pmf.data(), predictions.support_size());
  std::vector<std::uint64_t> public_weights(predictions.support_size());
  QuantiseLaw(predictions.public_pmf, top, public_weights);
  // One more than the parts' own, so that no token is impossible.
  std::vector<std::uint64_t> weights(predictions.support_size(), 1);
  for (int part = 0; part < options_.num_parts; ++part) {
    PartPmf(predictions, part).AddTo(weights, kTotalWeight, top);
  }
  return std::unique_ptr<Proposal>(std::make_unique<AllOrPublicProposal>(
      release_id,
      std::vector<accounting::FixedNats>(remaining.size(), accounting::FixedNats::Unpayable()),
      std::move(weights), std::move(public_weights)));
}

}  // namespace submix::mechanism
