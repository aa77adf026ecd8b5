#include "submix/accounting/poisson_amplification.h"

#include <algorithm>
#include <cmath>

#include "submix/accounting/log_space.h"
#include "submix/base/check.h"

namespace submix::accounting {

double PoissonAmplifiedRdp(const std::function<double(int)>& rdp_at_order,
                           double sampling_probability, int order) {
  SUBMIX_CHECK(order >= 2, "amplification is stated for integer orders from 2");
  const double p = sampling_probability;
  if (!(p >= 0 && p <= 1)) return kInfinity;
  if (p == 0) return 0;
  const double without_sampling = CostOrInfinity(rdp_at_order(order));
  if (p == 1) return without_sampling;
  const double log_odds = std::log(p) - std::log1p(-p);
  double log_weight = order * std::log1p(-p) + std::log(order) + log_odds;  // of k = 1
  LogSum excess;
  for (int k = 2; k <= order; ++k) {
    log_weight += std::log(static_cast<double>(order - k + 1) / k) + log_odds;
    const double rdp = rdp_at_order(k);
    if (!(rdp >= 0)) return kInfinity;
    const double exponent = (k - 1) * rdp;
    if (exponent > 0) excess.Add(log_weight + LogExpm1(exponent));
  }
  return std::min(without_sampling, RdpFromLogExcess(excess.value(), order));
}

}  // namespace submix::accounting
