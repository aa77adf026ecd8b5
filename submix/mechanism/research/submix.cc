#include "submix/mechanism/research/submix.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "submix/base/check.h"
#include "submix/mechanism/baselines/all_or_public.h"
#include "submix/mechanism/kernels/weight_kernels.h"
#include "submix/mechanism/mechanism_options.h"
#include "submix/mechanism/quantise.h"
#include "submix/mechanism/research/pair_weight.h"

namespace submix::mechanism {
namespace {

constexpr double kTotal = static_cast<double>(kTotalWeight);

// How much of what the members say together, and of the public model, is in a law before rounding.
struct LawScales {
  double members;
  double public_model;
};

// What the parts' weights and members sum to; from all parts, or all but one.
struct Sums {
  double weights = 0;
  double members = 0;
  double num_parts = 0;
};

LawScales ScalesOf(const Sums& sums, double public_sum, std::size_t support_size) {
  const double weight =
      sums.num_parts > 0 ? std::clamp(sums.weights / sums.num_parts, 0.0, 1.0) : 0;
  const double members = sums.num_parts > 0 ? weight / (2 * sums.num_parts) : 0;
  const double scale =
      ScaleBelow(static_cast<double>(kTotalWeight) - static_cast<double>(support_size),
                 members * sums.members + (1 - weight) * public_sum, support_size);
  return {scale * members, scale * (1 - weight)};
}

// h'_i while the support is gone through.
struct Without {
  Without(const LawScales& law_scales, std::int64_t spread)
      : scales(law_scales), remainder(spread) {}

  LawScales scales;
  std::int64_t remainder;  // for the top token
  double top_weight = 0;
  DirectedLanes lanes;
};

// The excess of h from h'_i, with the top token added to what the lanes have.
DirectedExcess FinishExcess(Without& without, double top_of_mixture, const ShiftExcess& kernel) {
  SUBMIX_CHECK(without.remainder >= 0, "rounding down cannot add weight");
  std::array<double, PadToLanes(1)> den;
  std::array<double, PadToLanes(1)> shift{};
  den.fill(1);
  den[0] = without.top_weight + static_cast<double>(without.remainder);
  shift[0] = top_of_mixture - den[0];
  kernel.Add(den.data(), shift.data(), 1, without.lanes);
  return kernel.Excess(without.lanes, kTotal);
}

// A part's two halves, both pmfs, what they sum to together, and its mixing weight in [0, 1].
struct WeightedPart {
  std::span<const double> first;
  std::span<const double> second;
  double sum;
  double weight;
};

struct LeaveOneOut {
  std::vector<std::uint64_t> mixture;    // [V]: h, sum kTotalWeight
  std::vector<DirectedExcess> excesses;  // [K]: of h from h'_i, both directions
};

// In one pass over the support. The remainders of rounding are on `top_token`.
LeaveOneOut LeaveOutEach(std::span<const double> public_pmf, std::span<const WeightedPart> parts,
                         std::size_t top_token, const ShiftExcess& kernel) {
  const std::size_t size = public_pmf.size();
  const double public_sum = CheckedSum(public_pmf.data(), size);
  Sums all;
  for (const WeightedPart& part : parts) {
    all = {all.weights + part.weight, all.members + part.sum, all.num_parts + 1};
  }
  const std::int64_t spread = kTotalWeight - static_cast<std::int64_t>(size);
  const LawScales scales = ScalesOf(all, public_sum, size);
  std::vector<Without> withouts;
  withouts.reserve(parts.size());
  for (const WeightedPart& part : parts) {
    const Sums others{all.weights - part.weight, std::max(0.0, all.members - part.sum),
                      all.num_parts - 1};
    withouts.emplace_back(ScalesOf(others, public_sum, size), spread);
  }

  LeaveOneOut result;
  result.mixture.resize(size);
  std::int64_t remainder = spread;
  std::array<double, kBlockTokens> sums;
  std::array<double, kBlockTokens> law;
  std::array<double, kBlockTokens> den;
  std::array<double, kBlockTokens> shift;
  for (std::size_t begin = 0; begin < size; begin += kBlockTokens) {
    const std::size_t count = std::min(kBlockTokens, size - begin);
    const bool has_top = top_token >= begin && top_token < begin + count;
    sums.fill(0);
    for (const WeightedPart& part : parts) {
      AddBoth(part.first.data() + begin, part.second.data() + begin, count, sums.data());
    }
    remainder -= FillLaw(sums.data(), public_pmf.data() + begin, scales.members,
                         scales.public_model, count, law.data(), result.mixture.data() + begin);
    den.fill(1);
    shift.fill(0);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Without& without = withouts[i];
      without.remainder -=
          FillLawWithout(sums.data(), parts[i].first.data() + begin, parts[i].second.data() + begin,
                         public_pmf.data() + begin, without.scales.members,
                         without.scales.public_model, count, den.data());
      Subtract(law.data(), den.data(), count, shift.data());
      if (has_top) {  // counted last
        without.top_weight = std::exchange(den[top_token - begin], 1);
        shift[top_token - begin] = 0;
      }
      kernel.Add(den.data(), shift.data(), count, without.lanes);
    }
  }
  SUBMIX_CHECK(remainder >= 0, "rounding down cannot add weight");
  result.mixture[top_token] += static_cast<std::uint64_t>(remainder);
  const auto top_of_mixture = static_cast<double>(result.mixture[top_token]);
  for (Without& without : withouts) {
    result.excesses.push_back(FinishExcess(without, top_of_mixture, kernel));
  }
  return result;
}

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
