#include "submix/mechanism/baselines/gnmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/number_text.h"
#include "submix/mechanism/baselines/constant_charge.h"
#include "submix/mechanism/baselines/noisy_votes.h"
#include "submix/mechanism/baselines/part_law.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {
namespace {

using accounting::FixedNats;
using divergence::RenyiOrder;

constexpr double kVotedWeight = 0x1p61;

// A token and how many votes it has.
struct Candidate {
  std::size_t token;
  int votes;
};

// The tokens with votes, ascending.
std::vector<Candidate> CandidatesOf(Votes votes) {
  std::sort(votes.begin(), votes.end());
  std::vector<Candidate> candidates;
  candidates.reserve(votes.size());
  for (const std::size_t token : votes) {
    if (candidates.empty() || candidates.back().token != token) candidates.push_back({token, 0});
    ++candidates.back().votes;
  }
  return candidates;
}

// The levels of all tokens of the support. There are as many whatever the votes: j different counts
// above zero need j (j+1) / 2 votes.
std::vector<VoteLevel> LevelsOf(const std::vector<Candidate>& candidates, std::size_t num_votes,
                                std::size_t support_size) {
  std::vector<std::int64_t> tokens_with(num_votes + 1);
  tokens_with[0] = static_cast<std::int64_t>(support_size - candidates.size());
  for (const Candidate& candidate : candidates) {
    ++tokens_with[static_cast<std::size_t>(candidate.votes)];
  }
  std::size_t most_levels = 1;
  while (most_levels * (most_levels + 1) / 2 <= num_votes) ++most_levels;
  std::vector<VoteLevel> levels(most_levels);
  std::size_t level = 0;
  for (std::size_t count = 0; count < tokens_with.size(); ++count) {
    if (count > 0 && tokens_with[count] == 0) continue;
    levels[level++] = {static_cast<int>(count), tokens_with[count]};
  }
  return levels;
}

class GnmaxProposal final : public Proposal {
 public:
  GnmaxProposal(base::ReleaseId release_id, std::vector<FixedNats> charges, Votes votes,
                std::size_t public_vote, std::size_t support_size, double noise_scale)
      : Proposal(release_id, std::move(charges)),
        votes_(std::move(votes)),
        public_vote_(public_vote),
        support_size_(support_size),
        noise_scale_(noise_scale) {}

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource&) && override {
    SUBMIX_CHECK(paid.size() == votes_.size(), "who paid: one answer a part");
    for (std::size_t part = 0; part < paid.size(); ++part) {
      if (!paid[part]) votes_[part] = public_vote_;
    }
    return PrivateMixture(release_id(), LawOfVotes(votes_, support_size_, noise_scale_),
                          PaidCharges(paid));
  }

 private:
  Votes votes_;
  std::size_t public_vote_;
  std::size_t support_size_;
  double noise_scale_;
};

// The least deviation within `limit_nats`, or infinity.
double LeastNoiseScale(double limit_nats, RenyiOrder order) {
  const auto nats = [&](double inverse_variance) {
    return GnmaxTokenNats(1 / std::sqrt(inverse_variance), order);
  };
  double feasible = 0;
  double infeasible = limit_nats;  // of 1 / s^2: one token costs more than order / s^2
  for (int i = 0; i < 64; ++i) {
    const double middle = (feasible + infeasible) / 2;
    (nats(middle) <= limit_nats ? feasible : infeasible) = middle;
  }
  return feasible > 0 ? 1 / std::sqrt(feasible) : std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<std::uint64_t> LawOfVotes(const Votes& votes, std::size_t support_size,
                                      double noise_scale) {
  const std::vector<Candidate> candidates = CandidatesOf(votes);
  const std::vector<VoteLevel> levels = LevelsOf(candidates, votes.size(), support_size);
  std::vector<double> probabilities(levels.size());
  NoisyVotesLaw(levels, noise_scale, probabilities);
  const auto weight = [&](int of_votes) {
    std::size_t level = 0;
    while (levels[level].votes != of_votes) ++level;
    return kUniformVoteWeight +
           static_cast<std::uint64_t>(std::llround(kVotedWeight * probabilities[level]));
  };
  std::vector<std::uint64_t> law(support_size, weight(0));
  // As often as there are votes, however few tokens they are for.
  for (std::size_t i = 0; i < votes.size(); ++i) {
    const Candidate& candidate = candidates[std::min(i, candidates.size() - 1)];
    law[candidate.token] = weight(candidate.votes);
  }
  return law;
}

double GnmaxTokenNats(double noise_scale, RenyiOrder order) {
  if (order.is_infinite()) return std::numeric_limits<double>::infinity();
  const double inverse_variance = 1 / (noise_scale * noise_scale);
  const double b = std::max(order.value(), 1 + std::sqrt(kLawRounding / inverse_variance));
  return accounting::Outward(b * inverse_variance + (2 * b - 1) / (b - 1) * kLawRounding, 0x1p-49);
}

base::StatusOr<std::unique_ptr<Gnmax>> Gnmax::Create(const MechanismOptions& options) {
  if (options.accounting == ChargeAccounting::kPublished ||
      options.accounting == ChargeAccounting::kLeaveOneOut) {
    return base::InvalidArgumentError(
        "accounting: gnmax is proven with its constant charge (default, worst-case); the others "
        "are research");
  }
  SUBMIX_ASSIGN_OR_RETURN(const double noise_scale, GnmaxNoiseScale(options));
  return std::unique_ptr<Gnmax>(new Gnmax(options, noise_scale));
}

base::StatusOr<double> GnmaxNoiseScale(const MechanismOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckMechanismOptions(options));
  if (options.order.is_infinite()) {
    return base::InvalidArgumentError(
        "order: Gaussian noise has no bound at order inf; gnmax needs a finite one");
  }
  const double limit = FixedNats::RoundDown(options.target_leakage).ToNatsRoundedUp();
  const double noise_scale = LeastNoiseScale(accounting::Inward(limit), options.order);
  if (!std::isfinite(noise_scale)) {
    return base::InvalidArgumentError("target leakage (beta): one token of gnmax costs at least " +
                                      base::NumberText(2 * kLawRounding) +
                                      " nats by rounding alone, found " +
                                      base::NumberText(options.target_leakage));
  }
  return noise_scale;
}

Gnmax::Gnmax(const MechanismOptions& options, double noise_scale)
    : options_(options),
      noise_scale_(noise_scale),
      charge_(FixedNats::RoundUp(GnmaxTokenNats(noise_scale, options.order))) {
  SUBMIX_CHECK(charge_ <= FixedNats::RoundDown(options.target_leakage),
               "noise that costs more than it may");
}

std::vector<FixedNats> Gnmax::Charges(const Votes& votes, std::size_t, std::size_t) const {
  return std::vector<FixedNats>(votes.size(), charge_);
}

accounting::PrivacyStatement Gnmax::Statement(FixedNats budget) const {
  return ConstantChargeStatement(
      std::string(name()), options_.order, budget, charge_, "theorem of noisy votes",
      [this](RenyiOrder order) { return GnmaxTokenNats(noise_scale_, order); });
}

base::StatusOr<std::unique_ptr<Proposal>> Gnmax::Propose(const PartPredictions& predictions,
                                                         std::span<const FixedNats> remaining,
                                                         base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  SUBMIX_RETURN_IF_ERROR(CheckPublicPmf(predictions.public_pmf));
  const std::size_t support_size = predictions.support_size();
  if (support_size > kLargestVotedSupport) {
    return base::InvalidArgumentError("gnmax: expected at most 2^20 tokens, found " +
                                      std::to_string(support_size));
  }
  const std::size_t public_vote = PartPmf(predictions).TopToken();
  Votes votes;
  for (int part = 0; part < options_.num_parts; ++part) {
    votes.push_back(PartPmf(predictions, part).TopToken());
  }
  std::vector<FixedNats> charges = Charges(votes, public_vote, support_size);
  return std::unique_ptr<Proposal>(std::make_unique<GnmaxProposal>(
      release_id, std::move(charges), std::move(votes), public_vote, support_size, noise_scale_));
}

}  // namespace submix::mechanism
