#include "submix/mechanism/baselines/public_model.h"

#include <string>
#include <utility>
#include <vector>

#include "submix/mechanism/baselines/all_or_public.h"
#include "submix/mechanism/kernels/weight_kernels.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {

base::StatusOr<std::unique_ptr<PublicModel>> PublicModel::Create(const MechanismOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckMechanismOptions(options));
  return std::unique_ptr<PublicModel>(new PublicModel(options));
}

accounting::PrivacyStatement PublicModel::Statement(accounting::FixedNats) const {
  accounting::PrivacyStatement statement =
      accounting::PartLevelStatement(std::string(name()), options_.order, accounting::FixedNats(),
                                     "docs/privacy.md, the public model: no private text is read");
  statement.adjacency = accounting::Adjacency::kReplace;
  statement.further_bounds = {{divergence::RenyiOrder::Infinity(), 0}};
  return statement;
}

base::StatusOr<std::unique_ptr<Proposal>> PublicModel::Propose(
    const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
    base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  SUBMIX_RETURN_IF_ERROR(CheckPublicPmf(predictions.public_pmf));
  std::vector<std::uint64_t> weights(predictions.support_size());
  QuantiseLaw(predictions.public_pmf,
              LargestIndex(predictions.public_pmf.data(), predictions.support_size()), weights);
  std::vector<std::uint64_t> same = weights;
  return std::unique_ptr<Proposal>(std::make_unique<AllOrPublicProposal>(
      release_id, std::vector<accounting::FixedNats>(remaining.size()), std::move(same),
      std::move(weights)));
}

}  // namespace submix::mechanism
