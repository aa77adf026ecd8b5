#include "submix/accounting/calculators/privacy_event.h"

#include <algorithm>
#include <cmath>

#include "submix/accounting/calculators/dp_decoding_rdp.h"
#include "submix/accounting/calculators/gnmax_rdp.h"
#include "submix/accounting/calculators/laplace_rdp.h"
#include "submix/accounting/calculators/pmixed_target.h"
#include "submix/accounting/gaussian_rdp.h"
#include "submix/accounting/log_space.h"
#include "submix/divergence/bounded_range.h"

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;

// PMixED's sums grow with the order; nobody converts at higher ones.
constexpr double kLargestPmixedOrder = 1024;

struct Counter {
  RenyiOrder order;

  double operator()(const GaussianRun& run) const {
    return GaussianRdp(1 / run.noise_multiplier, order);
  }
  double operator()(const SubsampledGaussianRun& run) const {
    return SubsampledGaussianRdp(run.sampling_probability, run.noise_multiplier, order);
  }
  double operator()(const LaplaceRun& run) const {
    return LaplaceRdp(1 / run.noise_multiplier, order);
  }
  double operator()(const GnmaxRun& run) const { return GnmaxRdp(run.noise_scale, order); }
  double operator()(const BoundedRangeRun& run) const {
    return divergence::BoundedRangeDivergence(run.range, order);
  }
  double operator()(const DpDecodingRun& run) const {
    return DpDecodingRdp(run.mixing_weight, run.vocab_size, order);
  }
  double operator()(const ZcdpRun& run) const { return ZcdpRdp(run.rho, order); }
  double operator()(const PureDpRun& run) const { return PureDpRdp(run.epsilon, order); }
  double operator()(const PmixedRun& run) const {
    if (order.value() > kLargestPmixedOrder) return kInfinity;
    const int integer_order = std::max(2, static_cast<int>(std::ceil(order.value())));
    return PmixedAnswerRdp(run.beta, run.num_drawn, run.sampling_probability, integer_order);
  }
  double operator()(const OneOrderRun& run) const {
    return order.value() <= run.order && run.rdp >= 0 ? run.rdp : kInfinity;
  }
};

}  // namespace

double RunRdp(const MechanismRun& run, RenyiOrder order) {
  return CostOrInfinity(std::visit(Counter{order}, run));
}

double EventRdp(const PrivacyEvent& event, RenyiOrder order) {
  if (event.count == 0) return 0;
  if (event.count < 0) return kInfinity;
  return static_cast<double>(event.count) * RunRdp(event.run, order);
}

}  // namespace submix::accounting
