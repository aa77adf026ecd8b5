#include "submix/accounting/calculators/dp_decoding_rdp.h"

#include <array>
#include <cmath>

#include "submix/accounting/log_space.h"
#include "submix/divergence/divergence_kernel.h"
#include "submix/divergence/renyi_divergence.h"

namespace submix::accounting {

double DpDecodingRdp(double mixing_weight, std::int64_t vocab_size, divergence::RenyiOrder order) {
  if (!(mixing_weight >= 0 && mixing_weight <= 1) || vocab_size < 1) return kInfinity;
  if (mixing_weight == 0 || vocab_size == 1) return 0;
  // Two pmfs that agree but for two tokens, whose probabilities they swap.
  const double low = (1 - mixing_weight) / static_cast<double>(vocab_size);
  const double high = low + mixing_weight;
  if (order.is_infinite()) return std::log1p(mixing_weight / low);
  const divergence::DivergenceKernel kernel(order);
  const double expectation =
      kernel.PairTerm(high, low, mixing_weight) + kernel.PairTerm(low, high, -mixing_weight);
  if (std::isfinite(expectation)) return kernel.DivergenceFromExpectation(expectation);
  const std::array<double, 2> p = {high, low};
  const std::array<double, 2> q = {low, high};
  return divergence::RenyiDivergence(p, q, order);
}

}  // namespace submix::accounting
