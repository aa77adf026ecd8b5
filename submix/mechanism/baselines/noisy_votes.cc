#include "submix/mechanism/baselines/noisy_votes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "submix/accounting/log_space.h"
#include "submix/base/check.h"

namespace submix::mechanism {
namespace {

constexpr double kReach = 9.5;
constexpr double kStep = 1.0 / 32;
constexpr int kNodes = static_cast<int>(2 * kReach / kStep) + 1;

// log(Phi(x)), relative error below 1e-13.
double LogNormalCdf(double x) {
  constexpr double kRootHalf = std::numbers::sqrt2 / 2;
  return x >= 0 ? std::log1p(-std::erfc(x * kRootHalf) / 2)
                : accounting::LogErfc(-x * kRootHalf) - std::numbers::ln2;
}

int MostVotes(std::span<const VoteLevel> levels) {
  int most = -1;
  for (const VoteLevel& level : levels) {
    if (level.tokens > 0) most = std::max(most, level.votes);
  }
  SUBMIX_CHECK(most >= 0, "votes for no token");
  return most;
}

}  // namespace

// Why the rule is that good. Both tails that are cut off are below Q(9.5) = 1e-21. The integrand is
// analytic, and on the strip |Im t| <= 1/4 its modulus is at most 1.5 phi(Re t - n_x):
// |Phi(x + iy)| <= e^(y^2/2) Phi(x) < 1 for x < 0; <= 1 for 0 <= x <= 5, since there 2 Re Q > |Q|^2
// for Q = 1 - Phi (checked in testdata/mechanism/generate_noisy_votes.py: it is at least |Q| / 2);
// <= 1 + 1.04 Q(5) beyond, and (1 + 1.04 Q(5))^(2^20) < 1.4. So the error is at most
// 3 / (e^(2 pi (1/4) 32) - 1) < 1e-21 (Trefethen and Weideman 2014, Theorem 5.1).
// Rounding: an exponent E >= -60 that matters is off by less than |E| 1e-14.
void NoisyVotesLaw(std::span<const VoteLevel> levels, double noise_scale,
                   std::span<double> probabilities) {
  SUBMIX_CHECK(levels.size() == probabilities.size(), "one probability for each level");
  SUBMIX_CHECK(noise_scale > 0 && std::isfinite(noise_scale), "a noise scale out of range");
  const double largest = MostVotes(levels) / noise_scale;
  std::vector<double> log_cdfs(levels.size());
  std::fill(probabilities.begin(), probabilities.end(), 0.0);
  for (int node = 0; node < kNodes; ++node) {
    const double t = node * kStep - kReach;  // from the largest count
    double log_product = 0;
    for (std::size_t l = 0; l < levels.size(); ++l) {
      log_cdfs[l] = LogNormalCdf(t + (largest - levels[l].votes / noise_scale));
      log_product += static_cast<double>(levels[l].tokens) * log_cdfs[l];
    }
    for (std::size_t l = 0; l < levels.size(); ++l) {
      const double x = t + (largest - levels[l].votes / noise_scale);
      probabilities[l] += std::exp(log_product - log_cdfs[l] - x * x / 2);
    }
  }
  const double scale = kStep / std::sqrt(2 * std::numbers::pi);
  for (double& probability : probabilities) probability *= scale;
}

}  // namespace submix::mechanism
