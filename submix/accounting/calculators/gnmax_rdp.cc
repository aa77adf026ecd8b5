#include "submix/accounting/calculators/gnmax_rdp.h"

#include <algorithm>
#include <cmath>

#include "submix/accounting/gaussian_rdp.h"
#include "submix/accounting/log_space.h"
#include "submix/base/check.h"

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;

// Theorem 6 with its two higher orders mu_2 and mu_1 = mu_2 + 1.
struct Theorem6 {
  double log_q;
  double mu_2;
  double mu_1;
  double epsilon_1;  // GnmaxRdp at mu_1
  double epsilon_2;  // and at mu_2

  bool Holds(double order) const {
    return mu_1 > order && mu_2 > 1 && -log_q > epsilon_2 &&
           log_q <= (mu_2 - 1) * epsilon_2 -
                        mu_2 * (std::log1p(1 / (mu_1 - 1)) + std::log1p(1 / (mu_2 - 1)));
  }

  // Requires: Holds(order), order >= 1.
  double Rdp(double order) const {
    const double log_1_minus_q = Log1mExp(log_q);
    const double log_a = log_1_minus_q - Log1mExp((log_q + epsilon_2) * (1 - 1 / mu_2));
    const double log_b = epsilon_1 - log_q / (mu_1 - 1);
    const double q = std::exp(log_q);
    if (order == 1) return (1 - q) * log_a + q * log_b;
    // (1-q) A^(a-1) + q B^(a-1) less 1, from two terms >= 0.
    LogSum excess;
    excess.Add(log_1_minus_q + LogExpm1((order - 1) * log_a));
    excess.Add(log_q + LogExpm1((order - 1) * log_b));
    return RdpFromLogExcess(excess.value(), order);
  }
};

}  // namespace

double GnmaxRdp(double noise_scale, RenyiOrder order) {
  if (!(noise_scale >= 0)) return kInfinity;
  return GaussianRdp(std::sqrt(2.0) / noise_scale, order);
}

double GnmaxLogErrorBound(std::span<const double> counts, double noise_scale) {
  SUBMIX_CHECK(!counts.empty(), "votes for no token");
  const auto winner = std::max_element(counts.begin(), counts.end());
  LogSum sum;
  for (auto other = counts.begin(); other != counts.end(); ++other) {
    if (other == winner) continue;
    sum.Add(LogErfc((*winner - *other) / (2 * noise_scale)) - std::log(2.0));
  }
  const double log_error = sum.value();
  const double uniform = std::log1p(-1 / static_cast<double>(counts.size()));
  return log_error < uniform ? log_error : std::isnan(log_error) ? log_error : uniform;
}

double GnmaxTheorem6(double log_error, double noise_scale, double mu_2, RenyiOrder order) {
  const double worst_case = GnmaxRdp(noise_scale, order);
  if (!(log_error <= 0) || order.is_infinite()) return worst_case;
  if (std::isinf(log_error)) return 0;
  const double variance = noise_scale * noise_scale;
  const Theorem6 theorem = {log_error, mu_2, mu_2 + 1, (mu_2 + 1) / variance, mu_2 / variance};
  const double a = std::max(order.value(), 1.0);
  if (!theorem.Holds(a)) return worst_case;
  return std::min(worst_case, CostOrInfinity(theorem.Rdp(a)));
}

double GnmaxDataDependentRdp(std::span<const double> counts, double noise_scale, RenyiOrder order) {
  const double log_error = GnmaxLogErrorBound(counts, noise_scale);
  return GnmaxTheorem6(log_error, noise_scale, noise_scale * std::sqrt(-log_error), order);
}

}  // namespace submix::accounting
