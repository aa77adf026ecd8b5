#include "submix/mechanism/baselines/public_model.h"

#include <utility>
#include <vector>

#include "submix/mechanism/baselines/part_law.h"
#include "submix/mechanism/kernels/weight_kernels.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {
namespace {

// The public law, whoever paid.
class PublicProposal final : public Proposal {
 public:
  PublicProposal(base::ReleaseId release_id, std::size_t num_parts,
                 std::vector<std::uint64_t> weights)
      : Proposal(release_id, std::vector<accounting::FixedNats>(num_parts)),
        weights_(std::move(weights)) {}

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource&) && override {
    return PrivateMixture(release_id(), std::move(weights_), PaidCharges(paid));
  }

 private:
  std::vector<std::uint64_t> weights_;  // [V]
};

}  // namespace

base::StatusOr<std::unique_ptr<PublicModel>> PublicModel::Create(const MechanismOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckMechanismOptions(options));
  return std::unique_ptr<PublicModel>(new PublicModel(options));
}

accounting::PrivacyStatement PublicModel::Statement(accounting::FixedNats) const {
  accounting::PrivacyStatement statement;
  statement.mechanism = name();
  statement.unit = accounting::PrivacyUnit::kPart;
  statement.adjacency = accounting::Adjacency::kReplace;
  statement.order = options_.order;
  statement.worst_case = true;
  statement.proven = true;
  statement.proof = "docs/privacy.md, the public model: no private text is read";
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
  return std::unique_ptr<Proposal>(
      std::make_unique<PublicProposal>(release_id, remaining.size(), std::move(weights)));
}

}  // namespace submix::mechanism
