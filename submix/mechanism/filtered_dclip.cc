#include "submix/mechanism/filtered_dclip.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "submix/base/check.h"
#include "submix/divergence/bounded_range.h"
#include "submix/divergence/mixing_weight.h"
#include "submix/mechanism/dclip.h"
#include "submix/mechanism/kernels/weight_kernels.h"
#include "submix/mechanism/public_scores.h"

namespace submix::mechanism {
namespace {

using accounting::FixedNats;
using divergence::RenyiOrder;

// Relative error of the sums behind a variance, with room to spare: 2^20 tokens of 2^-53 each.
constexpr double kSumError = 0x1p-32;
// Of the scale of a part.
constexpr int kScaleHalvings = 50;

// The log ratios of one part in blocks, always in the same order.
class PartRatios {
 public:
  PartRatios(const PartPredictions& predictions, int part, const PublicScores& scores,
             RatioWindow window)
      : first_(predictions.member(part, 0).data()),
        second_(predictions.member(part, predictions.halves - 1).data()),
        scores_(scores),
        window_(window) {}

  void Fill(std::size_t begin, std::size_t count, double* block) const {
    LogRatios(first_ + begin, second_ + begin, scores_.half_inverse() + begin, window_, count,
              block);
  }

 private:
  const double* first_;
  const double* second_;
  const PublicScores& scores_;
  RatioWindow window_;
};

RatioSpread SpreadOf(const PartRatios& ratios, const PublicScores& scores, double weight) {
  std::array<double, kBlockTokens> block;
  WeightedMoments moments;
  for (std::size_t begin = 0; begin < scores.size(); begin += kBlockTokens) {
    const std::size_t count = std::min(kBlockTokens, scores.size() - begin);
    ratios.Fill(begin, count, block.data());
    AddMoments(block.data(), scores.scaled() + begin, count, moments);
  }
  const double mean = moments.sum / scores.total();
  const double square = moments.squares / scores.total();
  const double variance = std::max(0.0, square - mean * mean) + kSumError * square;
  return {weight * (moments.most - moments.least), weight * weight * variance};
}

class FilteredDClipProposal final : public Proposal {
 public:
  FilteredDClipProposal(base::ReleaseId release_id, std::vector<FixedNats> charges,
                        std::vector<double> scales, PublicScores scores,
                        const PartPredictions& predictions, RatioWindow window, double weight)
      : Proposal(release_id, std::move(charges)),
        scales_(std::move(scales)),
        scores_(std::move(scores)),
        predictions_(predictions),
        window_(window),
        weight_(weight) {}

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource&) && override {
    SUBMIX_CHECK(paid.size() == charges().size(), "who paid: one answer a part");
    std::vector<std::uint64_t> weights(scores_.size());
    ForEachBlock(*predictions_.for_each, weights.size(), [&](std::size_t begin, std::size_t count) {
      std::array<double, kBlockTokens> ratios;
      std::array<double, kBlockTokens> sums;
      std::fill_n(sums.begin(), count, 0.0);
      for (int part = 0; part < predictions_.num_parts; ++part) {
        const auto i = static_cast<std::size_t>(part);
        PartRatios(predictions_, part, scores_, window_).Fill(begin, count, ratios.data());
        AddScaled(ratios.data(), paid[i] ? scales_[i] : 0.0, count, sums.data());
      }
      FloorOfExponentials(scores_.scaled() + begin, sums.data(), weight_, count,
                          weights.data() + begin);
    });
    return PrivateMixture(release_id(), std::move(weights), PaidCharges(paid));
  }

 private:
  const std::vector<double> scales_;  // [K]
  const PublicScores scores_;
  const PartPredictions predictions_;
  const RatioWindow window_;
  const double weight_;  // of a log ratio in the sum: gamma / k
};

}  // namespace

double SpreadCharge(const RatioSpread& spread, double scale, double others, RenyiOrder order) {
  const double range = scale * spread.range + 2 * kScoreRounding;
  const double by_range = divergence::BoundedRangeDivergence(range, order);
  // A part that moves nothing leaves every integer as it is. It takes as long as any other.
  const bool moves = scale * spread.range != 0;
  if (order.is_infinite()) return moves ? by_range : 0;
  const double a = order.value();
  const double deviation = scale * std::sqrt(spread.variance) + kScoreRounding;
  const double by_variance =
      a / 2 * std::exp(2 * (others + kScoreRounding) + a * range) * deviation * deviation;
  return moves ? std::min(by_range, by_variance) : 0;
}

base::StatusOr<std::unique_ptr<FilteredDClip>> FilteredDClip::Create(
    const MechanismOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const std::unique_ptr<DClip> window, DClip::Create(options));
  return std::unique_ptr<FilteredDClip>(new FilteredDClip(options, window->clip()));
}

FilteredDClip::FilteredDClip(const MechanismOptions& options, double clip)
    : options_(options),
      clip_(clip),
      window_(WindowOf(options.clip, clip)),
      largest_charge_(FixedNats::RoundDown(options.target_leakage)) {}

accounting::PrivacyStatement FilteredDClip::Statement(FixedNats budget) const {
  return accounting::PartLevelStatement(
      std::string(name()), options_.order, budget,
      "docs/privacy.md, theorems of the transcript filter and of clipped log ratios");
}

base::StatusOr<std::unique_ptr<Proposal>> FilteredDClip::Propose(
    const PartPredictions& predictions, std::span<const FixedNats> remaining,
    base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  SUBMIX_ASSIGN_OR_RETURN(PublicScores scores, PublicScores::Create(predictions.public_pmf,
                                                                    ReachOf(options_.clip, clip_)));
  const double weight = options_.clip.stretch / options_.num_parts;
  std::vector<FixedNats> charges(remaining.size());
  std::vector<double> scales(remaining.size());
  (*predictions.for_each)(options_.num_parts, [&](int part) {
    const auto i = static_cast<std::size_t>(part);
    const FixedNats limit = std::min(largest_charge_, remaining[i]);
    const RatioSpread spread =
        SpreadOf(PartRatios(predictions, part, scores, window_), scores, weight);
    const double within = accounting::Inward(limit.ToNatsRoundedUp());
    const double scale = divergence::LargestByHalving(1, kScaleHalvings, [&](double tried) {
      return SpreadCharge(spread, tried, others(), options_.order) <= within;
    });
    SUBMIX_CHECK(scale >= 0 && scale <= 1, "the other parts' charges are for scales up to 1");
    const double nats = SpreadCharge(spread, scale, others(), options_.order);
    charges[i] = FixedNats::RoundUp(accounting::Outward(nats));
    scales[i] = scale;
  });
  return std::unique_ptr<Proposal>(
      std::make_unique<FilteredDClipProposal>(release_id, std::move(charges), std::move(scales),
                                              std::move(scores), predictions, window_, weight));
}

}  // namespace submix::mechanism
