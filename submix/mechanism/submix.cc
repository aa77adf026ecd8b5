#include "submix/mechanism/submix.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "submix/base/check.h"
#include "submix/mechanism/log_bracket.h"
#include "submix/mechanism/mechanism_options.h"
#include "submix/mechanism/quantise.h"
#include "submix/mechanism/weight_kernels.h"

namespace submix::mechanism {
namespace {

using Weights = std::vector<std::uint64_t>;  // [V], sum kTotalWeight, each >= 1

constexpr int kEvaluations = 16;  // of equation 2, a part
constexpr double kTotal = static_cast<double>(kTotalWeight);

class AllOrPublicProposal final : public Proposal {
 public:
  AllOrPublicProposal(base::ReleaseId release_id, std::vector<accounting::FixedNats> charges,
                      Weights mixture, Weights public_weights)
      : Proposal(release_id, std::move(charges)),
        mixture_(std::move(mixture)),
        public_weights_(std::move(public_weights)) {}

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource&) && override {
    SUBMIX_CHECK(paid.size() == charges().size(), "who paid: one answer a part");
    const bool everybody = std::find(paid.begin(), paid.end(), false) == paid.end();
    return PrivateMixture(release_id(), std::move(everybody ? mixture_ : public_weights_),
                          PaidCharges(paid));
  }

 private:
  Weights mixture_;
  Weights public_weights_;
};

// The excess of a pair of laws with sum kTotalWeight that `fill(x)` gives as
// {denominator, shift}.
template <typename Fill>
DirectedExcess PairExcess(const ShiftExcess& kernel, std::size_t support_size, const Fill& fill) {
  std::array<double, kBlockTokens> den;
  std::array<double, kBlockTokens> shift;
  DirectedLanes lanes;
  for (std::size_t begin = 0; begin < support_size; begin += kBlockTokens) {
    const std::size_t count = std::min(kBlockTokens, support_size - begin);
    for (std::size_t i = 0; i < count; ++i) {
      std::tie(den[i], shift[i]) = fill(begin + i);
    }
    std::fill(den.begin() + static_cast<std::ptrdiff_t>(count), den.end(), 1.0);
    std::fill(shift.begin() + static_cast<std::ptrdiff_t>(count), shift.end(), 0.0);
    kernel.Add(den.data(), shift.data(), count, lanes);
  }
  return kernel.Excess(lanes, kTotal);
}

// One token's answer while it is formed: the integer laws and the means over the parts.
class Ensemble {
 public:
  Ensemble(const PartPredictions& predictions, const ShiftExcess& kernel, double target_leakage)
      : kernel_(kernel),
        target_(kernel.FromNats(target_leakage)),
        num_parts_(predictions.num_parts),
        top_token_(LargestIndex(predictions.public_pmf.data(), predictions.support_size())),
        public_weights_(Quantise(predictions.public_pmf)),
        sum_of_means_(public_weights_.size(), 0) {
    for (int part = 0; part < num_parts_; ++part) AddPart(predictions, part);
  }

  const Weights& public_weights() const { return public_weights_; }

  // h.
  Weights Mixture() const {
    return Mix(sum_of_weights_ / num_parts_, num_parts_,
               [&](std::size_t x) { return sum_of_means_[x]; });
  }

  // h' of this part.
  Weights LeaveOneOut(int part) const {
    if (num_parts_ == 1) return public_weights_;
    const auto i = static_cast<std::size_t>(part);
    const double others = num_parts_ - 1;
    const double weight = std::clamp((sum_of_weights_ - weights_[i]) / others, 0.0, 1.0);
    return Mix(weight, others,
               [&](std::size_t x) { return std::max(0.0, sum_of_means_[x] - means_[i][x]); });
  }

 private:
  Weights Quantise(std::span<const double> pmf) const {
    Weights weights(pmf.size());
    QuantiseLaw(pmf, top_token_, weights);
    return weights;
  }

  void AddPart(const PartPredictions& predictions, int part) {
    std::span<const double> first = predictions.member(part, 0);
    std::span<const double> second = predictions.member(part, predictions.halves - 1);
    if (!IsPmf(first) || !IsPmf(second)) first = second = predictions.public_pmf;
    const Weights a = Quantise(first);
    const Weights b = Quantise(second);
    weights_.push_back(LargestMixingWeight(a, b));
    sum_of_weights_ += weights_.back();
    std::vector<double> mean(a.size());
    for (std::size_t x = 0; x < a.size(); ++x) {
      mean[x] = static_cast<double>(a[x] + b[x]) / 2;
      sum_of_means_[x] += mean[x];
    }
    means_.push_back(std::move(mean));
  }

  // Equation 2.
  double LargestMixingWeight(const Weights& a, const Weights& b) const {
    return LargestScaleInLogBracket(1.0, target_, kEvaluations, [&](double weight) {
      return PairExcess(kernel_, a.size(),
                        [&](std::size_t x) {
                          const double h0 = static_cast<double>(public_weights_[x]);
                          const double second = static_cast<double>(b[x]);
                          const double shift = static_cast<double>(a[x]) - second;
                          return std::pair(h0 + weight * (second - h0), weight * shift);
                        })
          .forward;
    });
  }

  // weight * sum / parts + (1 - weight) h0, as integers.
  template <typename SumOfMeans>
  Weights Mix(double weight, double parts, const SumOfMeans& sum) const {
    std::vector<double> law(public_weights_.size());
    for (std::size_t x = 0; x < law.size(); ++x) {
      law[x] = (weight * sum(x) / parts + (1 - weight) * static_cast<double>(public_weights_[x])) /
               kTotal;
    }
    return Quantise(law);
  }

  const ShiftExcess& kernel_;
  double target_;
  int num_parts_;
  std::size_t top_token_;
  Weights public_weights_;
  std::vector<double> weights_;  // [K]: lambda_i
  double sum_of_weights_ = 0;
  std::vector<std::vector<double>> means_;  // [K, V]: hbar_i, in units of 1 / kTotalWeight
  std::vector<double> sum_of_means_;        // [V]
};

}  // namespace

base::StatusOr<std::unique_ptr<Submix>> Submix::Create(const MechanismOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckMechanismOptions(options));
  return std::unique_ptr<Submix>(new Submix(options));
}

accounting::PrivacyStatement Submix::Statement(accounting::FixedNats budget) const {
  accounting::PrivacyStatement statement;
  statement.mechanism = name();
  statement.unit = accounting::PrivacyUnit::kPart;
  statement.adjacency = accounting::Adjacency::kNull;
  statement.order = options_.order;
  statement.epsilon = budget;
  statement.worst_case = false;
  statement.proven = false;
  statement.proof =
      "research: a part's charge is exact for this ensemble only, and so depends on the other "
      "parts; "
      "the stop is decided by private ledgers and is not paid for";
  return statement;
}

base::StatusOr<std::unique_ptr<Proposal>> Submix::Propose(
    const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
    base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  if (!IsPmf(predictions.public_pmf)) {
    return base::InvalidArgumentError(
        "the public model's predictions: expected probabilities that sum to 1");
  }
  const Ensemble ensemble(predictions, kernel_, options_.target_leakage);
  Weights mixture = ensemble.Mixture();
  std::vector<accounting::FixedNats> charges;
  for (int part = 0; part < options_.num_parts; ++part) {
    const Weights without = ensemble.LeaveOneOut(part);
    const DirectedExcess excess = PairExcess(kernel_, mixture.size(), [&](std::size_t x) {
      const double den = static_cast<double>(without[x]);
      return std::pair(den, static_cast<double>(mixture[x]) - den);
    });
    charges.push_back(kernel_.ChargeOf(excess, mixture.size()));
  }
  return std::unique_ptr<Proposal>(std::make_unique<AllOrPublicProposal>(
      release_id, std::move(charges), std::move(mixture), ensemble.public_weights()));
}

}  // namespace submix::mechanism
