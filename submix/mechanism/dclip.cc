#include "submix/mechanism/dclip.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "submix/base/check.h"
#include "submix/base/number_text.h"
#include "submix/divergence/bounded_range.h"
#include "submix/divergence/mixing_weight.h"
#include "submix/mechanism/kernels/weight_kernels.h"
#include "submix/mechanism/public_scores.h"

namespace submix::mechanism {
namespace {

using accounting::FixedNats;
using divergence::RenyiOrder;

// Orders at which a fixed number of tokens is stated besides the declared one.
constexpr std::array kStatedOrders = {1.25, 1.5,  1.75, 2.0,  2.25, 2.5,  2.75, 3.0,  3.25,  3.5,
                                      3.75, 4.0,  4.25, 4.5,  5.0,  5.5,  6.0,  7.0,  8.0,   10.0,
                                      12.0, 14.0, 16.0, 20.0, 24.0, 32.0, 48.0, 64.0, 128.0, 256.0};

// After so many factors of at most e^kLargestClip a product is below 2^1000.
constexpr int kFactorsAtATime = 64;

// What one token costs if `moves` parts of `num_parts` change from one end of the window to the
// other or, for one, from the public model to any end: the range of the log ratio is moves 2 C / k.
double TokenNats(double clip, int num_parts, double moves, RenyiOrder order) {
  return divergence::BoundedRangeDivergence(moves * 2 * clip / num_parts + 2 * kScoreRounding,
                                            order);
}

// Errors: kInvalidArgument, naming the option and its range.
base::Status CheckClipOptions(const ClipOptions& options) {
  if (!(options.stretch >= 1 && options.stretch <= 16)) {
    return base::InvalidArgumentError("clip stretch: expected 1 to 16, found " +
                                      base::NumberText(options.stretch));
  }
  if (!(std::abs(options.centre) <= 1)) {
    return base::InvalidArgumentError("clip centre: expected -1 to 1, found " +
                                      base::NumberText(options.centre));
  }
  return base::OkStatus();
}

class DClipProposal final : public Proposal {
 public:
  DClipProposal(base::ReleaseId release_id, std::vector<FixedNats> charges,
                PublicScores public_scores, const PartPredictions& predictions, RatioWindow window,
                double stretch)
      : Proposal(release_id, std::move(charges)),
        public_scores_(std::move(public_scores)),
        predictions_(predictions),
        window_(window),
        stretch_(stretch) {}

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource&) && override {
    SUBMIX_CHECK(paid.size() == charges().size(), "who paid: one answer a part");
    std::vector<std::uint64_t> weights(public_scores_.size());
    ForEachBlock(*predictions_.for_each, weights.size(), [&](std::size_t begin, std::size_t count) {
      std::array<double, kBlockTokens> sums;
      SumLogRatios(paid, begin, count, sums.data());
      FloorOfExponentials(public_scores_.scaled() + begin, sums.data(),
                          stretch_ / predictions_.num_parts, count, weights.data() + begin);
    });
    return PrivateMixture(release_id(), std::move(weights), PaidCharges(paid));
  }

 private:
  // sums = sum of v_i / gamma over the parts that paid; the others do the same work in a window
  // of 1.
  void SumLogRatios(const std::vector<bool>& paid, std::size_t begin, std::size_t count,
                    double* sums) const {
    std::array<double, kBlockTokens> products;
    std::fill_n(sums, count, 0.0);
    std::fill_n(products.begin(), count, 1.0);
    constexpr RatioWindow kNoWindow;
    for (int part = 0; part < predictions_.num_parts; ++part) {
      MultiplyRatios(predictions_.member(part, 0).data() + begin,
                     predictions_.member(part, predictions_.halves - 1).data() + begin,
                     public_scores_.half_inverse() + begin,
                     paid[static_cast<std::size_t>(part)] ? window_ : kNoWindow, count,
                     products.data());
      if ((part + 1) % kFactorsAtATime == 0) TakeLogs(products.data(), count, sums);
    }
    TakeLogs(products.data(), count, sums);
  }

  const PublicScores public_scores_;
  const PartPredictions predictions_;
  const RatioWindow window_;
  const double stretch_;
};

}  // namespace

double LargestClip(int num_parts, RenyiOrder order, double limit_nats) {
  const auto is_within = [&](double clip) {
    return TokenNats(clip, num_parts, 1, order) <= limit_nats;
  };
  return is_within(0) ? divergence::LargestByHalving(kLargestClip, 52, is_within) : -1;
}

RatioWindow WindowOf(const ClipOptions& options, double clip) {
  return {std::exp(-(1 - options.centre) * clip / options.stretch),
          std::exp((1 + options.centre) * clip / options.stretch)};
}

double ReachOf(const ClipOptions& options, double clip) {
  return (1 + std::abs(options.centre)) * clip;
}

double RangeOf(double clip) { return 2 * clip + 2 * kScoreRounding; }

base::StatusOr<std::unique_ptr<DClip>> DClip::Create(const MechanismOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckMechanismOptions(options));
  SUBMIX_RETURN_IF_ERROR(CheckClipOptions(options.clip));
  const double limit = FixedNats::RoundDown(options.target_leakage).ToNatsRoundedUp();
  const double clip =
      std::min(LargestClip(options.num_parts, options.order, accounting::Inward(limit)),
               kLargestClip / ReachOf(options.clip, 1));
  if (clip < 0) {
    return base::InvalidArgumentError(
        "target leakage (beta): one token of dclip costs at least " +
        base::NumberText(TokenNats(0, options.num_parts, 1, options.order)) +
        " nats by rounding alone, found " + base::NumberText(options.target_leakage));
  }
  return std::unique_ptr<DClip>(new DClip(options, clip));
}

DClip::DClip(const MechanismOptions& options, double clip)
    : options_(options),
      clip_(clip),
      window_(WindowOf(options.clip, clip)),
      charge_(FixedNats::RoundUp(
          accounting::Outward(TokenNats(clip, options.num_parts, 1, options.order)))) {}

accounting::PrivacyStatement DClip::Statement(FixedNats budget) const {
  accounting::PrivacyStatement statement =
      accounting::PartLevelStatement(std::string(name()), options_.order, budget,
                                     "docs/privacy.md, theorem of clipped log ratios");
  const auto answers = static_cast<double>(budget.units() / charge_.units());
  const auto bound = [&](double moves, RenyiOrder order) {
    const double nats = answers * TokenNats(clip_, options_.num_parts, moves, order);
    return accounting::RdpBound{order, accounting::Outward(nats, accounting::kAnyChoiceError)};
  };
  for (const double value : kStatedOrders) {
    const auto order = RenyiOrder::Create(value);
    statement.further_bounds.push_back(bound(1, *order));
    statement.user_level_bounds.push_back(bound(2, *order));
  }
  statement.user_level_bounds.insert(statement.user_level_bounds.begin(), bound(2, options_.order));
  return statement;
}

base::StatusOr<std::unique_ptr<Proposal>> DClip::Propose(const PartPredictions& predictions,
                                                         std::span<const FixedNats> remaining,
                                                         base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  SUBMIX_ASSIGN_OR_RETURN(PublicScores scores, PublicScores::Create(predictions.public_pmf,
                                                                    ReachOf(options_.clip, clip_)));
  return std::unique_ptr<Proposal>(std::make_unique<DClipProposal>(
      release_id, std::vector<FixedNats>(remaining.size(), charge_), std::move(scores), predictions,
      window_, options_.clip.stretch));
}

}  // namespace submix::mechanism
