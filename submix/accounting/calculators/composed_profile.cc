#include "submix/accounting/calculators/composed_profile.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "submix/accounting/bisection.h"
#include "submix/accounting/calculators/dp_decoding_rdp.h"
#include "submix/accounting/calculators/privacy_loss_distribution.h"
#include "submix/base/number_text.h"

namespace submix::accounting {
namespace {

using base::StatusOr;

constexpr std::int64_t kMostComposedTokens = 100000;
constexpr double kMostLaplacePoints = 1 << 14;

PrivacyProfile LatticeProfile(const PrivacyLoss& loss, double step, std::int64_t count) {
  using Distribution = PrivacyLossDistribution;
  const auto composed = [&](Distribution::Bound bound) {
    return std::make_shared<const Distribution>(Distribution(loss, step, bound).Power(count));
  };
  const auto lower = composed(Distribution::Bound::kLower);
  const auto upper = composed(Distribution::Bound::kUpper);
  return [lower, upper](double epsilon) {
    return Bracket{lower->DeltaForEpsilon(epsilon), upper->DeltaForEpsilon(epsilon)};
  };
}

// Laplace noise of scale 1 / r, moved by 1: with s = log(P/Q), atoms of 1/2 at r and of e^-r / 2 at
// -r, density e^((s-r)/2) / 4 between. Sensitivity split over several coordinates is dominated by
// one coordinate (docs/accounting.md).
PrivacyLoss LaplaceLoss(double r) {
  const auto continuous = [r](double low, double high) {
    const double from = std::clamp(low, -r, r);
    const double width = std::clamp(high, -r, r) - from;
    return LossMass{std::exp((from - r) / 2) * std::expm1(width / 2) / 2,
                    std::exp(-(from + r) / 2) * -std::expm1(-width / 2) / 2};
  };
  return {{{r, 0.5}, {-r, std::exp(-r) / 2}}, continuous, r};
}

StatusOr<PrivacyProfile> LaplaceProfile(double r, std::int64_t count) {
  if (!(r > 0 && std::isfinite(r))) {
    return base::InvalidArgumentError("Laplace composition: expected a noise multiplier above 0");
  }
  // The composed loss spans `spread` times r at most, or its 12 standard deviations on both sides.
  const auto n = static_cast<double>(count);
  const double spread = std::min(2 * n, 24 * std::sqrt(n) + n * r);
  return LatticeProfile(LaplaceLoss(r), r / std::max(1.0, std::floor(kMostLaplacePoints / spread)),
                        count);
}

StatusOr<PrivacyProfile> DpDecodingProfile(const DpDecodingRun& run, std::int64_t count) {
  const double step =
      DpDecodingRdp(run.mixing_weight, run.vocab_size, divergence::RenyiOrder::Infinity());
  if (std::isinf(step)) {
    return base::InvalidArgumentError("DP decoding: expected a mixing weight in [0, 1), found " +
                                      base::NumberText(run.mixing_weight));
  }
  if (step == 0) return PrivacyProfile([](double) { return Bracket{}; });
  const double rest = (1 - run.mixing_weight) / static_cast<double>(run.vocab_size);
  const double others = static_cast<double>(run.vocab_size - 2) * rest;
  const PrivacyLoss loss = {
      {{step, rest + run.mixing_weight}, {0, others}, {-step, rest}}, nullptr, step};
  return LatticeProfile(loss, step, count);
}

StatusOr<PrivacyProfile> BoundedRangeProfile(double range, std::int64_t count) {
  SUBMIX_ASSIGN_OR_RETURN(const auto composition, BoundedRangeComposition::Create(range, count));
  return PrivacyProfile(
      [composition](double epsilon) { return composition.DeltaForEpsilon(epsilon); });
}

}  // namespace

StatusOr<PrivacyProfile> ComposedProfile(const PrivacyEvent& event) {
  if (event.count < 1) return base::InvalidArgumentError("composition: expected at least 1 token");
  if (const auto* run = std::get_if<BoundedRangeRun>(&event.run)) {
    return BoundedRangeProfile(run->range, event.count);
  }
  if (event.count > kMostComposedTokens) {
    return base::UnimplementedError("exact composition: at most " +
                                    std::to_string(kMostComposedTokens) + " tokens, found " +
                                    std::to_string(event.count));
  }
  if (const auto* run = std::get_if<LaplaceRun>(&event.run)) {
    return LaplaceProfile(1 / run->noise_multiplier, event.count);
  }
  if (const auto* run = std::get_if<DpDecodingRun>(&event.run)) {
    return DpDecodingProfile(*run, event.count);
  }
  return base::UnimplementedError("exact composition: Laplace, DP decoding and bounded range only");
}

StatusOr<Bracket> ComposedEpsilon(const PrivacyProfile& profile, double delta) {
  if (!(delta > 0 && delta < 1)) {
    return base::InvalidArgumentError("delta: expected a number in (0, 1), found " +
                                      base::NumberText(delta));
  }
  const auto boundary = [&](double Bracket::*bound) {
    if (profile(0).*bound <= delta) return Boundary{};
    return FindBoundary(0, 1, [&](double epsilon) { return profile(epsilon).*bound > delta; });
  };
  return Bracket{boundary(&Bracket::lower).holds, boundary(&Bracket::upper).fails};
}

}  // namespace submix::accounting
