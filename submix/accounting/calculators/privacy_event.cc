#include "submix/accounting/calculators/privacy_event.h"

#include "submix/accounting/calculators/dp_decoding_rdp.h"
#include "submix/accounting/calculators/gnmax_rdp.h"
#include "submix/accounting/calculators/laplace_rdp.h"
#include "submix/accounting/log_space.h"
#include "submix/divergence/bounded_range.h"

namespace submix::accounting {
namespace {

using divergence::RenyiOrder;

struct Counter {
  RenyiOrder order;

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
  double operator()(const OneOrderRun& run) const {
    return order.value() <= run.order && run.rdp >= 0 ? run.rdp : kInfinity;
  }
};

}  // namespace

double RunRdp(const MechanismRun& run, RenyiOrder order) {
  return CostOrInfinity(std::visit(Counter{order}, run));
}

}  // namespace submix::accounting
