#include "submix/accounting/calculators/dp_decoding_rdp.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "submix/accounting/bisection.h"
#include "submix/accounting/log_space.h"
#include "submix/divergence/divergence_kernel.h"
#include "submix/divergence/renyi_divergence.h"

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;

// The divergence of two pmfs that agree but for two tokens, whose probabilities they swap.
// `difference` is high - low, which the caller knows better.
double SwappedPairRdp(double high, double low, double difference, RenyiOrder order) {
  if (order.is_infinite()) return std::log1p(difference / low);
  const divergence::DivergenceKernel kernel(order);
  const double expectation =
      kernel.PairTerm(high, low, difference) + kernel.PairTerm(low, high, -difference);
  if (std::isfinite(expectation)) return kernel.DivergenceFromExpectation(expectation);
  const std::array<double, 2> p = {high, low};
  const std::array<double, 2> q = {low, high};
  return divergence::RenyiDivergence(p, q, order);
}

}  // namespace

double DpDecodingRdp(double mixing_weight, std::int64_t vocab_size, RenyiOrder order) {
  if (!(mixing_weight >= 0 && mixing_weight <= 1) || vocab_size < 1) return kInfinity;
  if (mixing_weight == 0 || vocab_size == 1) return 0;
  const double rest = (1 - mixing_weight) / static_cast<double>(vocab_size);
  return SwappedPairRdp(rest + mixing_weight, rest, mixing_weight, order);
}

double PureDpRdp(double epsilon, RenyiOrder order) {
  if (!(epsilon >= 0)) return kInfinity;
  const double high = 1 / (1 + std::exp(-epsilon));
  const double low = std::exp(-epsilon) * high;
  return std::min(epsilon, SwappedPairRdp(high, low, std::tanh(epsilon / 2), order));
}

base::StatusOr<double> DpDecodingMixingWeight(double rdp, std::int64_t vocab_size,
                                              RenyiOrder order) {
  if (!(rdp >= 0) || vocab_size < 1) {
    return base::InvalidArgumentError("DP decoding: expected rdp >= 0 and a vocabulary, found " +
                                      std::to_string(rdp) + " and " + std::to_string(vocab_size));
  }
  if (DpDecodingRdp(1, vocab_size, order) <= rdp) return 1.0;
  const auto fits = [&](double weight) { return DpDecodingRdp(weight, vocab_size, order) <= rdp; };
  return FindBoundary(0, 1, fits).holds;
}

}  // namespace submix::accounting
