#include "submix/mechanism/baselines/dp_decoding.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "submix/accounting/bisection.h"
#include "submix/accounting/log_space.h"
#include "submix/base/check.h"
#include "submix/mechanism/baselines/constant_charge.h"
#include "submix/mechanism/baselines/part_law.h"
#include "submix/mechanism/kernels/weight_kernels.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {
namespace {

using accounting::FixedNats;
using divergence::RenyiOrder;

constexpr double kLargestOdds = 0x1p63;  // k P + u over u

// The largest odds within `limit_nats`, between two doubles that enclose them.
accounting::Boundary LargestOdds(double limit_nats, std::size_t support_size, RenyiOrder order) {
  accounting::Boundary log_odds{0, std::log(kLargestOdds)};
  for (int i = 0; i < 64; ++i) {
    const double middle = (log_odds.holds + log_odds.fails) / 2;
    const bool is_feasible = DpDecodingNats(std::exp(middle), support_size, order) <= limit_nats;
    (is_feasible ? log_odds.holds : log_odds.fails) = middle;
  }
  return {std::exp(log_odds.holds), std::exp(log_odds.fails)};
}

class DpDecodingProposal final : public Proposal {
 public:
  DpDecodingProposal(base::ReleaseId release_id, std::vector<FixedNats> charges,
                     const PartPredictions& predictions, std::int64_t part_total,
                     std::uint64_t uniform)
      : Proposal(release_id, std::move(charges)),
        predictions_(predictions),
        part_total_(part_total),
        uniform_(uniform) {}

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource&) && override {
    SUBMIX_CHECK(paid.size() == charges().size(), "who paid: one answer a part");
    const std::size_t top =
        LargestIndex(predictions_.public_pmf.data(), predictions_.support_size());
    std::vector<std::uint64_t> weights(predictions_.support_size(), uniform_);
    for (std::size_t part = 0; part < paid.size(); ++part) {
      const PartPmf own(predictions_, static_cast<int>(part));
      const PartPmf absent(predictions_);
      (paid[part] ? own : absent).AddTo(weights, part_total_, top);
    }
    return PrivateMixture(release_id(), std::move(weights), PaidCharges(paid));
  }

 private:
  PartPredictions predictions_;
  std::int64_t part_total_;
  std::uint64_t uniform_;
};

}  // namespace

// With M = odds = e^e the sum of p^a q^(1-a) less 1 is (M (M^(a-1) - 1) - (1 - M^(1-a))) / (V-1+M),
// whose numerator is M^a (1 - M^-a) (1 - M^(1-a)).
double DpDecodingNats(double odds, std::size_t support_size, RenyiOrder order) {
  SUBMIX_CHECK(odds >= 1 && std::isfinite(odds) && support_size >= 1 && order.value() >= 1,
               "DP decoding out of range");
  if (odds == 1 || support_size == 1) return 0;
  const double log_odds = std::log(odds);
  const double others = static_cast<double>(support_size - 1);
  if (order.is_infinite()) return log_odds;
  if (order.is_one()) return (odds - 1) / (others + odds) * log_odds;
  const double a = order.value();
  return accounting::RdpFromLogExcess(a * log_odds + accounting::Log1mExp(-a * log_odds) +
                                          accounting::Log1mExp(-(a - 1) * log_odds) -
                                          std::log(others + odds),
                                      a);
}

base::StatusOr<std::unique_ptr<DpDecoding>> DpDecoding::Create(const MechanismOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckMechanismOptions(options));
  if (FixedNats::RoundDown(options.target_leakage) == FixedNats()) {
    return base::InvalidArgumentError("target leakage (beta): below 2^-50 nats");
  }
  return std::unique_ptr<DpDecoding>(new DpDecoding(options));
}

DpDecoding::DpDecoding(const MechanismOptions& options)
    : options_(options), charge_(FixedNats::RoundDown(options.target_leakage)) {}

DpDecoding::Weights DpDecoding::WeightsFor(std::size_t support_size) const {
  const std::int64_t k = options_.num_parts;
  const auto tokens = static_cast<std::int64_t>(support_size);
  const double odds =
      LargestOdds(charge_.ToNatsRoundedUp() * (1 - 0x1p-30), support_size, options_.order).holds;
  const double mixing_weight = (odds - 1) / (static_cast<double>(tokens - 1) + odds);
  auto part_total = static_cast<std::int64_t>(mixing_weight * static_cast<double>(kTotalWeight));
  for (;;) {
    const std::int64_t uniform =
        std::max<std::int64_t>(1, k * (kTotalWeight - part_total) / tokens);
    const double real_odds = 1 + static_cast<double>(k * part_total) / static_cast<double>(uniform);
    const double nats = DpDecodingNats(real_odds, support_size, options_.order);
    if (FixedNats::RoundUp(accounting::Outward(nats)) <= charge_) {
      return {part_total, static_cast<std::uint64_t>(uniform)};
    }
    part_total -= part_total / 1024 + 1;  // rounding took more than the room for it
  }
}

// At a fixed cost at one order the odds grow with the support, the cost at a higher order grows
// with the odds, and at a lower one falls (docs/privacy.md): one of the two ends is the worst.
double DpDecoding::LargestNats(RenyiOrder order) const {
  double largest = 0;
  for (const std::size_t support_size : {std::size_t{2}, kLargestSupport}) {
    const double odds =
        LargestOdds(accounting::Outward(charge_.ToNatsRoundedUp()), support_size, options_.order)
            .fails;
    largest = std::max(largest, DpDecodingNats(odds, support_size, order));
  }
  return accounting::Outward(largest);
}

accounting::PrivacyStatement DpDecoding::Statement(FixedNats budget) const {
  return ConstantChargeStatement(std::string(name()), options_.order, budget, charge_,
                                 "theorem of DP decoding: also if all private text changes at once",
                                 [this](RenyiOrder order) { return LargestNats(order); });
}

base::StatusOr<std::unique_ptr<Proposal>> DpDecoding::Propose(const PartPredictions& predictions,
                                                              std::span<const FixedNats> remaining,
                                                              base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  SUBMIX_RETURN_IF_ERROR(CheckPublicPmf(predictions.public_pmf));
  if (predictions.support_size() > kLargestSupport) {
    return base::InvalidArgumentError("dp-decoding: expected at most 2^20 tokens, found " +
                                      std::to_string(predictions.support_size()));
  }
  const Weights weights = WeightsFor(predictions.support_size());
  return std::unique_ptr<Proposal>(std::make_unique<DpDecodingProposal>(
      release_id, std::vector<FixedNats>(remaining.size(), charge_), predictions,
      weights.part_total, weights.uniform));
}

}  // namespace submix::mechanism
