#include "submix/mechanism/research/submix.h"

#include <string>
#include <utility>
#include <vector>

#include "submix/mechanism/baselines/all_or_public.h"
#include "submix/mechanism/kernels/weight_kernels.h"
#include "submix/mechanism/mechanism_options.h"
#include "submix/mechanism/quantise.h"
#include "submix/mechanism/research/leave_one_out.h"
#include "submix/mechanism/research/pair_weight.h"

namespace submix::mechanism {
namespace {

// A part with its weight by equation 2; twice the public model if one of its halves is no pmf.
WeightedPart MakePart(const PartPredictions& predictions, int part, const ShiftExcess& kernel,
                      double target) {
  const auto sum_of = [](std::span<const double> pmf) {
    return CheckedSum(pmf.data(), pmf.size());
  };
  MemberPair pair{predictions.public_pmf, predictions.member(part, 0),
                  predictions.member(part, predictions.halves - 1)};
  const double first_sum = sum_of(pair.first);
  const double second_sum = sum_of(pair.second);
  const bool are_pmfs = SumsToOne(first_sum) && SumsToOne(second_sum);
  if (!are_pmfs) pair.first = pair.second = pair.public_pmf;
  const double sum = are_pmfs ? first_sum + second_sum : 2 * sum_of(pair.public_pmf);
  return {pair.first, pair.second, sum, LargestPairWeight(pair, kernel, target)};
}

}  // namespace

base::StatusOr<std::unique_ptr<Submix>> Submix::Create(const MechanismOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckMechanismOptions(options));
  return std::unique_ptr<Submix>(new Submix(options));
}

accounting::PrivacyStatement Submix::Statement(accounting::FixedNats budget) const {
  return accounting::ResearchStatement(std::string(name()), options_.order, budget,
                                       "a part's charge is exact for this ensemble only, and so "
                                       "depends on the other parts; the stop "
                                       "is decided by private ledgers and is not paid for");
}

base::StatusOr<std::unique_ptr<Proposal>> Submix::Propose(
    const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
    base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  SUBMIX_RETURN_IF_ERROR(CheckPublicPmf(predictions.public_pmf));
  const double target = kernel_.FromNats(options_.target_leakage);
  std::vector<WeightedPart> parts;
  parts.reserve(remaining.size());
  for (int part = 0; part < options_.num_parts; ++part) {
    parts.push_back(MakePart(predictions, part, kernel_, target));
  }
  const std::size_t support_size = predictions.support_size();
  const std::size_t top_token = LargestIndex(predictions.public_pmf.data(), support_size);
  LeaveOneOut left_out = LeaveOutEach(predictions.public_pmf, parts, top_token, kernel_);
  std::vector<accounting::FixedNats> charges;
  charges.reserve(parts.size());
  for (const DirectedExcess& excess : left_out.excesses) {
    charges.push_back(kernel_.ChargeOf(excess, support_size));
  }
  std::vector<std::uint64_t> public_law(support_size);
  QuantiseLaw(predictions.public_pmf, top_token, public_law);
  return std::unique_ptr<Proposal>(std::make_unique<AllOrPublicProposal>(
      release_id, std::move(charges), std::move(left_out.mixture), std::move(public_law)));
}

}  // namespace submix::mechanism
