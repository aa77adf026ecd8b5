#include "submix/mechanism/baselines/noisy_screen.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/number_text.h"
#include "submix/divergence/renyi_divergence.h"
#include "submix/mechanism/baselines/discrete_noise.h"

namespace submix::mechanism {
namespace {

// A shift of more would be near the range of the integers; its charge is absurd long before.
constexpr double kLargestShift = 0x1p40;

// The likeliest public tokens, ties to the lower index.
std::vector<std::size_t> LikeliestTokens(std::span<const double> pmf, std::size_t count) {
  std::vector<std::size_t> tokens(pmf.size());
  std::iota(tokens.begin(), tokens.end(), std::size_t{0});
  const auto end = tokens.begin() + static_cast<std::ptrdiff_t>(std::min(count, pmf.size()));
  std::partial_sort(tokens.begin(), end, tokens.end(), [&](std::size_t a, std::size_t b) {
    return pmf[a] > pmf[b] || (pmf[a] == pmf[b] && a < b);
  });
  tokens.erase(end, tokens.end());
  return tokens;
}

base::Status OutOfRange(const char* option, const char* range, double found) {
  return base::InvalidArgumentError(std::string("screen: ") + option + ": expected " + range +
                                    ", found " + base::NumberText(found));
}

void Normalise(std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  for (double& value : values) value /= sum;
}

}  // namespace

base::StatusOr<NoisyScreen> NoisyScreen::Create(const MechanismOptions& options,
                                                std::int64_t deviation) {
  SUBMIX_CHECK(deviation >= 1 && deviation <= std::int64_t{1} << 20, "a grid out of range");
  SUBMIX_RETURN_IF_ERROR(CheckMechanismOptions(options));
  const ScreenOptions& screen = options.screen;
  if (options.order.is_infinite()) {
    return base::InvalidArgumentError(
        "order: the noise of a screen has no bound at order infinity; choose a finite one");
  }
  if (!(screen.mixing_weight > 0 && screen.mixing_weight <= 1)) {
    return OutOfRange("mixing weight", "a number in (0, 1]", screen.mixing_weight);
  }
  if (!(screen.noise_scale >= 1e-9 && screen.noise_scale <= 1e9)) {
    return OutOfRange("noise scale", "a number from 1e-9 to 1e9", screen.noise_scale);
  }
  if (!(screen.threshold >= 0)) {
    return OutOfRange("threshold", "a number of at least 0", screen.threshold);
  }
  if (screen.top_tokens < 1) {
    return OutOfRange("tokens", "at least 1", screen.top_tokens);
  }
  return NoisyScreen(options, deviation);
}

NoisyScreen::NoisyScreen(const MechanismOptions& options, std::int64_t deviation)
    : options_(options.screen),
      order_(options.order),
      deviation_(deviation),
      probability_unit_(options.screen.noise_scale / static_cast<double>(deviation)),
      shift_scale_(options.screen.mixing_weight / (options.num_parts * probability_unit_)) {}

double NoisyScreen::ShiftNats(double squared_shift) const {
  const auto deviation = static_cast<double>(deviation_);
  return order_.value() * squared_shift / (2 * deviation * deviation);
}

double NoisyScreen::WorstCaseNats() const {
  // |p - h0| <= sqrt(2), and rounding adds at most 1/2 a token.
  const double longest = std::sqrt(2) * shift_scale_ + .5 * std::sqrt(options_.top_tokens);
  return accounting::Outward(ShiftNats(longest * longest));
}

double NoisyScreen::PublishedNats() const {
  const double ratio = shift_scale_ / static_cast<double>(deviation_);
  return order_.value() * ratio * ratio;
}

ScreenedQuery::ScreenedQuery(const NoisyScreen& screen, const PartPredictions& predictions)
    : screen_(screen), num_parts_(predictions.num_parts) {
  const std::vector<std::size_t> tokens =
      LikeliestTokens(predictions.public_pmf, static_cast<std::size_t>(screen.options_.top_tokens));
  for (const std::size_t token : tokens) {
    public_probabilities_.push_back(predictions.public_pmf[token]);
  }
  for (int part = 0; part < num_parts_; ++part) {
    const auto first = predictions.member(part, 0);
    const auto second = predictions.member(part, predictions.halves - 1);
    const bool is_pmf = std::all_of(tokens.begin(), tokens.end(), [&](std::size_t token) {
      return first[token] >= 0 && first[token] <= 1 && second[token] >= 0 && second[token] <= 1;
    });
    for (const std::size_t token : tokens) {
      const double difference =
          is_pmf ? .5 * (first[token] + second[token]) - predictions.public_pmf[token] : 0;
      shifts_.push_back(std::llround(
          std::clamp(screen.shift_scale_ * difference, -kLargestShift, kLargestShift)));
    }
  }
}

accounting::FixedNats ScreenedQuery::Charge(int part) const {
  const std::size_t width = public_probabilities_.size();
  double squares = 0;
  for (std::size_t x = 0; x < width; ++x) {
    const auto shift = static_cast<double>(shifts_[static_cast<std::size_t>(part) * width + x]);
    squares += shift * shift;
  }
  return accounting::FixedNats::RoundUp(accounting::Outward(screen_.ShiftNats(squares)));
}

std::vector<std::int64_t> ScreenedQuery::Sum(const std::vector<bool>& takes_part) const {
  const std::size_t width = public_probabilities_.size();
  std::vector<std::int64_t> sum(width, 0);
  for (std::size_t part = 0; part < static_cast<std::size_t>(num_parts_); ++part) {
    const std::int64_t mask = takes_part[part] ? -1 : 0;
    for (std::size_t x = 0; x < width; ++x) sum[x] += shifts_[part * width + x] & mask;
  }
  return sum;
}

double ScreenedQuery::Divergence(std::span<const std::int64_t> noisy_sum) const {
  std::vector<double> noisy;
  for (std::size_t x = 0; x < public_probabilities_.size(); ++x) {
    noisy.push_back(std::max(
        0.0,
        public_probabilities_[x] + screen_.probability_unit_ * static_cast<double>(noisy_sum[x])));
  }
  std::vector<double> expected = public_probabilities_;
  // Nothing left of the ensemble: nothing that differs.
  if (std::accumulate(noisy.begin(), noisy.end(), 0.0) == 0) return 0;
  Normalise(noisy);
  Normalise(expected);
  return divergence::RenyiDivergence(noisy, expected, screen_.order_);
}

double ScreenedQuery::Compare(const std::vector<bool>& takes_part,
                              base::RandomSource& random) const {
  std::vector<std::int64_t> noisy_sum = Sum(takes_part);
  screen_.AddNoise(random, noisy_sum);
  return Divergence(noisy_sum);
}

void NoisyScreen::AddNoise(base::RandomSource& random, std::span<std::int64_t> sum) const {
  const auto variance = static_cast<std::uint64_t>(deviation_ * deviation_);
  for (std::int64_t& value : sum) value += DrawDiscreteGaussian(random, {variance, 1});
}

ScreenProposal::ScreenProposal(base::ReleaseId release_id,
                               std::vector<accounting::FixedNats> charges, ScreenedQuery query,
                               ProposeToken propose_token)
    : Proposal(release_id, std::move(charges)),
      query_(std::move(query)),
      propose_token_(std::move(propose_token)) {}

PrivateMixture ScreenProposal::Mix(const std::vector<bool>&, base::RandomSource&) && {
  SUBMIX_CHECK(false, "this proposal leads to a screen");
}

PrivateScreen ScreenProposal::Screen(const std::vector<bool>& paid) && {
  return PrivateScreen(release_id(), PaidCharges(paid),
                       [query = std::move(query_), propose_token = std::move(propose_token_), paid](
                           base::RandomSource& random,
                           std::span<const accounting::FixedNats> remaining, base::ReleaseId next) {
                         return propose_token(query.Compare(paid, random), paid, remaining, next);
                       });
}

}  // namespace submix::mechanism
