#include "submix/mechanism/filtered_submix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "submix/base/check.h"
#include "submix/base/number_text.h"
#include "submix/mechanism/kernels/weight_kernels.h"
#include "submix/mechanism/mechanism_options.h"
#include "submix/mechanism/quantise.h"
#include "submix/mechanism/submix_charge.h"

namespace submix::mechanism {
namespace {

// How one part's integers follow from its pmf: w_i = w_0 + floor(scale * direction), except on the
// top token, which gets what rounding down leaves.
struct PartShift {
  PartDirection direction;
  double scale = 0;  // 0: the part sits out, with the same work as any other
  std::int64_t top_shift = 0;
};

// The mean of the parts' integer laws, whoever of them takes part: h = sum_i w_i / (k W), with
// w_i = w_0 for a part that sits out (Theorem 4). Keeps no rows of integers: once it is known who
// paid they are computed anew, by the function that was charged for.
class FilteredSubmixProposal final : public Proposal {
 public:
  // Requires: a charge and a shift for each of base's parts, directions made with `base`.
  // `for_each`, which outlives the proposal, divides the tokens.
  FilteredSubmixProposal(base::ReleaseId release_id, std::vector<accounting::FixedNats> charges,
                         PublicWeights base, std::vector<PartShift> shifts,
                         const base::ForEach& for_each)
      : Proposal(release_id, std::move(charges)),
        base_(std::move(base)),
        shifts_(std::move(shifts)),
        for_each_(for_each) {
    SUBMIX_CHECK(this->charges().size() == shifts_.size() &&
                     shifts_.size() == static_cast<std::size_t>(base_.num_parts()),
                 "charges and shifts of the same parts");
  }

  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource&) && override {
    SUBMIX_CHECK(paid.size() == shifts_.size(), "who paid: one answer a part");
    const std::size_t top = base_.top_token();
    std::vector<std::uint64_t> weights = std::move(base_).TakeWeights();
    std::int64_t top_shift = 0;
    for (std::size_t i = 0; i < shifts_.size(); ++i) {
      top_shift += paid[i] ? shifts_[i].top_shift : 0;
    }
    const std::int64_t top_weight =
        static_cast<std::int64_t>(shifts_.size() * weights[top]) + top_shift;
    ForEachBlock(for_each_, weights.size(), [&](std::size_t begin, std::size_t count) {
      MultiplyWeights(shifts_.size(), count, weights.data() + begin);
      for (std::size_t i = 0; i < shifts_.size(); ++i) {
        shifts_[i].direction.AddFloors(begin, count, paid[i] ? shifts_[i].scale : 0,
                                       weights.data() + begin);
      }
    });
    weights[top] = static_cast<std::uint64_t>(top_weight);
    return PrivateMixture(release_id(), std::move(weights), PaidCharges(paid));
  }

 private:
  PublicWeights base_;
  std::vector<PartShift> shifts_;  // [K]
  const base::ForEach& for_each_;
};

// Up to this support size (public) the charge is Theorem 2's exact supremum; above it the bound
// without its last term, which some token that hardly moves makes vanish there.
constexpr std::size_t kExactChargeTokens = 64;

// Rounding to integers may raise the charge a little, so the scale is solved for a target a hair
// below the limit: 2^-20 of it, and 8 units of weight a token.
double TargetExcess(const ShiftExcess& kernel, double limit_nats, const PublicWeights& base) {
  const double tokens = static_cast<double>(base.size());
  return kernel.FromNats(limit_nats * (1 - 0x1p-20)) *
             (1 - ShiftExcess::RelativeError(base.size())) -
         8 * tokens / base.total();
}

// Rounds the direction at its scale down to integers, puts what that leaves on the top token, and
// returns the excess of exactly these integers.
DirectedExcess ExcessOfIntegers(const PublicWeights& base, const ShiftExcess& kernel,
                                PartShift& part) {
  const std::size_t top = base.top_token();
  std::array<double, kBlockTokens> shift;
  DirectedLanes lanes;
  std::int64_t sum = 0;
  for (std::size_t begin = 0; begin < base.size(); begin += kBlockTokens) {
    const std::size_t count = std::min(kBlockTokens, base.size() - begin);
    sum += part.direction.FillFloors(begin, count, part.scale, shift.data());
    if (top >= begin && top < begin + count) {
      sum -= static_cast<std::int64_t>(shift[top - begin]);
      shift[top - begin] = 0;
    }
    kernel.Add(base.least_rest() + begin, shift.data(), count, lanes);
  }
  part.top_shift = -sum;
  std::array<double, PadToLanes(1)> top_den;
  std::array<double, PadToLanes(1)> top_shift{};
  top_den.fill(1);
  top_den[0] = base.least_rest()[top];
  top_shift[0] = static_cast<double>(-sum);
  SUBMIX_CHECK(top_shift[0] >= -base.room()[top], "a part below the public floor");
  kernel.Add(top_den.data(), top_shift.data(), 1, lanes);
  return kernel.Excess(lanes, base.total());
}

// The same of a small support, with Theorem 2's last term.
DirectedExcess ExactExcessOfIntegers(const PublicWeights& base, const PartShift& part,
                                     divergence::RenyiOrder order) {
  std::array<double, PadToLanes(kExactChargeTokens)> shift;
  part.direction.FillFloors(0, base.size(), part.scale, shift.data());
  shift[base.top_token()] = static_cast<double>(part.top_shift);
  const double rest = (base.num_parts() - 1) * base.spare();
  return ExactExcess(std::span(base.least_rest(), base.size()), std::span(shift).first(base.size()),
                     rest, base.total(), order);
}

// Whether all members of the part say just what the public model says. Then the part is null, as
// one whose user's records were emptied, although the shift towards the public law itself is not 0:
// it takes back what rounding made of that. Looks at every number, whatever the others are.
bool SaysThePublicLaw(const PartPredictions& predictions, int part) {
  bool differs = false;
  for (int half = 0; half < predictions.halves; ++half) {
    const std::span<const double> member = predictions.member(part, half);
    for (std::size_t x = 0; x < member.size(); ++x)
      differs |= member[x] != predictions.public_pmf[x];
  }
  return !differs;
}

// The charge of the part's integers; zero, and a part that sits out, if it is more than `limit`.
accounting::FixedNats ChargeOf(const PublicWeights& base, const ShiftExcess& kernel,
                               accounting::FixedNats limit, PartShift& shift) {
  DirectedExcess excess = ExcessOfIntegers(base, kernel, shift);
  if (base.size() <= kExactChargeTokens) {
    excess = ExactExcessOfIntegers(base, shift, kernel.order());
  }
  const accounting::FixedNats charge = kernel.ChargeOf(excess, base.size());
  if (charge <= limit) return charge;
  // A hair was not enough (a target near the resolution of the integers): null for this token.
  shift.scale = 0;
  shift.top_shift = 0;
  return accounting::FixedNats();
}

}  // namespace

base::StatusOr<std::unique_ptr<FilteredSubmix>> FilteredSubmix::Create(
    const MechanismOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckMechanismOptions(options));
  if (!(options.max_mixing_weight > 0 && options.max_mixing_weight <= 1)) {
    return base::InvalidArgumentError("max_mixing_weight: expected a number in (0, 1], found " +
                                      base::NumberText(options.max_mixing_weight));
  }
  return std::unique_ptr<FilteredSubmix>(new FilteredSubmix(options));
}

FilteredSubmix::FilteredSubmix(const MechanismOptions& options)
    : options_(options),
      largest_charge_(accounting::FixedNats::RoundDown(options.target_leakage)),
      kernel_(options.order),
      solver_(options.order) {}

accounting::PrivacyStatement FilteredSubmix::Statement(accounting::FixedNats budget) const {
  return accounting::PartLevelStatement(std::string(name()), options_.order, budget,
                                        "docs/privacy.md, theorem of the transcript filter");
}

base::StatusOr<std::unique_ptr<Proposal>> FilteredSubmix::Propose(
    const PartPredictions& predictions, std::span<const accounting::FixedNats> remaining,
    base::ReleaseId release_id) const {
  SUBMIX_RETURN_IF_ERROR(CheckPredictions(predictions, options_.num_parts, remaining.size()));
  SUBMIX_ASSIGN_OR_RETURN(PublicWeights base,
                          PublicWeights::Create(predictions.public_pmf, options_.num_parts,
                                                options_.max_mixing_weight));
  const PartShift nowhere{PartDirection(base, predictions.public_pmf, predictions.public_pmf)};
  std::vector<PartShift> shifts(remaining.size(), nowhere);
  std::vector<accounting::FixedNats> charges(remaining.size());
  (*predictions.for_each)(options_.num_parts, [&](int part) {
    const auto i = static_cast<std::size_t>(part);
    const accounting::FixedNats limit = std::min(largest_charge_, remaining[i]);
    const ScaledDirection scaled =
        solver_.Solve(base, predictions.public_pmf, predictions.member(part, 0),
                      predictions.member(part, predictions.halves - 1),
                      TargetExcess(kernel_, limit.ToNatsRoundedUp(), base));
    SUBMIX_CHECK(scaled.scale >= 0 && scaled.scale <= 1, "a scale beyond the largest weight");
    shifts[i] = {scaled.direction, SaysThePublicLaw(predictions, part) ? 0 : scaled.scale};
    charges[i] = ChargeOf(base, kernel_, limit, shifts[i]);
  });
  return std::unique_ptr<Proposal>(std::make_unique<FilteredSubmixProposal>(
      release_id, std::move(charges), std::move(base), std::move(shifts), *predictions.for_each));
}

}  // namespace submix::mechanism
