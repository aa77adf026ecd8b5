#include "submix/accounting/calculators/smooth_sensitivity.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "submix/accounting/bisection.h"
#include "submix/accounting/calculators/gnmax_rdp.h"
#include "submix/accounting/log_space.h"
#include "submix/base/check.h"

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;

// The fixed grid of mu_2: public, so that the least over it is as monotone as its members.
constexpr double kGridRatio = 1.1;
constexpr int kGridSize = 100;
// Cells of the error scale in one changed vote.
constexpr int kCellsPerVote = 16;
// How far the neighbourhood of one more vote reaches: a cell more than it must, so that rounding
// cannot leave a neighbour's own neighbourhood outside.
constexpr int kNoiseReach = kCellsPerVote + 1;

// Moves x with erfc(x) = 2 q / (V - 1), the scale on which one changed vote moves at most 1 / s.
class ErrorScale {
 public:
  explicit ErrorScale(std::size_t vocab_size)
      : log_half_others_(std::log(static_cast<double>(vocab_size - 1) / 2)),
        log_cap_(std::log1p(-1 / static_cast<double>(vocab_size))) {}

  // Capped as GnmaxLogErrorBound is.
  double LogError(double x) const { return std::min(Uncapped(x), log_cap_); }
  // The x >= 0 of a log_error; where it was capped, the largest: left of it the cost is flat.
  double Position(double log_error) const {
    return FindBoundary(0, 1, [&](double x) { return Uncapped(x) > log_error; }).fails;
  }

 private:
  double Uncapped(double x) const { return log_half_others_ + LogErfc(x); }

  double log_half_others_;
  double log_cap_;
};

base::Status CheckRelease(const SmoothRelease& release, RenyiOrder order, double order_limit) {
  if (!(release.beta > 0) || !(release.noise_multiplier > 0)) {
    return base::InvalidArgumentError(
        "smooth release: expected beta and noise multiplier above 0, found " +
        std::to_string(release.beta) + " and " + std::to_string(release.noise_multiplier));
  }
  if (order.value() > 1 && order.value() < order_limit) return base::OkStatus();
  return base::InvalidArgumentError("smooth release with beta " + std::to_string(release.beta) +
                                    ": expected an order between 1 and " +
                                    std::to_string(order_limit) + ", found " + order.ToString());
}

}  // namespace

double GnmaxMonotoneRdp(double log_error, double noise_scale, RenyiOrder order) {
  double least = GnmaxRdp(noise_scale, order);
  double mu_2 = std::max(order.value() - 1, 1.0) * kGridRatio;
  for (int i = 0; i < kGridSize; ++i, mu_2 *= kGridRatio) {
    least = std::min(least, GnmaxTheorem6(log_error, noise_scale, mu_2, order));
  }
  return least;
}

std::vector<double> GnmaxLocalSensitivities(std::span<const double> counts, double noise_scale,
                                            RenyiOrder order, int num_parts) {
  SUBMIX_CHECK(!counts.empty() && noise_scale > 0 && num_parts >= 0 && !order.is_infinite(),
               "local sensitivities need votes, noise and a finite order");
  std::vector<double> sensitivities(num_parts + 1, 0.0);
  if (counts.size() == 1) return sensitivities;
  // Positions are counted in cells from x = 0, the same cells for all votes. Votes lie between 0
  // and the unanimous ones at num_parts / 2 votes; a neighbour may lie one vote beyond.
  const ErrorScale scale(counts.size());
  const double cell = 1 / (noise_scale * kCellsPerVote);
  const int num_cells = kCellsPerVote * (num_parts / 2 + 2);
  const auto cost = [&](int i) {
    return GnmaxMonotoneRdp(scale.LogError(i * cell), noise_scale, order);
  };
  // For y within a cell: cost(y - one vote) - cost(y), bounded by the cell's ends.
  std::vector<double> drop(num_cells);
  for (int i = 0; i < num_cells; ++i) drop[i] = cost(i - kCellsPerVote) - cost(i + 1);
  const double position = scale.Position(GnmaxLogErrorBound(counts, noise_scale)) / cell;
  for (int d = 0; d <= num_parts; ++d) {
    const double begin = std::max(0.0, std::floor(position - d * kNoiseReach));
    const double end =
        std::min<double>(num_cells, std::ceil(position + d * kNoiseReach) + kNoiseReach);
    for (auto i = static_cast<int>(begin); i < end; ++i) {
      sensitivities[d] = std::max(sensitivities[d], drop[i]);
    }
  }
  return sensitivities;
}

double SmoothSensitivity(std::span<const double> local_sensitivities, double beta) {
  double largest = 0;
  for (std::size_t d = 0; d < local_sensitivities.size(); ++d) {
    largest = std::max(largest, std::exp(-beta * static_cast<double>(d)) * local_sensitivities[d]);
  }
  return largest;
}

base::StatusOr<double> SmoothReleaseRdp(const SmoothRelease& release, RenyiOrder order) {
  const double shrink = -std::expm1(-2 * release.beta);  // 1 - r^2
  SUBMIX_RETURN_IF_ERROR(CheckRelease(release, order, 1 / shrink));
  const double a = order.value();
  const double v = 1 - a * shrink;
  const double s = release.noise_multiplier;
  return a * (1 - shrink) / (2 * s * s * v) - (a * release.beta + std::log(v) / 2) / (a - 1);
}

base::StatusOr<double> SmoothReleaseRdpAsPublished(const SmoothRelease& release, RenyiOrder order) {
  SUBMIX_RETURN_IF_ERROR(CheckRelease(release, order, 1 / (2 * release.beta)));
  const double a = order.value();
  const double s = release.noise_multiplier;
  return a * std::exp(2 * release.beta) / (s * s) +
         (release.beta * a - std::log1p(-2 * a * release.beta) / 2) / (a - 1);
}

}  // namespace submix::accounting
