#include "submix/mechanism/submix_charge.h"

#include <algorithm>
#include <limits>

#include "submix/base/check.h"
#include "submix/divergence/divergence_kernel.h"
#include "submix/divergence/pmf.h"

namespace submix::mechanism {
namespace {

// The supremum of sum den' g(d / den') over den' >= den with `rest` more mass.
class Supremum {
 public:
  Supremum(const divergence::DivergenceKernel& kernel, double rest)
      : kernel_(kernel), rest_(rest) {}

  void AddToken(double den, double shift) {
    const double term = kernel_.SteadyPairTerm(den + shift, den, shift);
    const double relieved = kernel_.SteadyPairTerm(den + rest_ + shift, den + rest_, shift);
    sum_.Add(term);
    // The term never grows with den, but rounding might make it seem so.
    least_relief_ = std::min(least_relief_, std::max(0.0, term - relieved));
  }
  double value() const { return LargerOrNan(sum_.value() - least_relief_, 0); }

 private:
  const divergence::DivergenceKernel& kernel_;
  double rest_;
  divergence::CompensatedSum sum_;
  double least_relief_ = std::numeric_limits<double>::infinity();
};

// max shift / den: the rest goes to a token outside the argmax, so nothing relieves it.
DirectedExcess LargestRatios(std::span<const double> den, std::span<const double> shift) {
  DirectedExcess most;
  for (std::size_t x = 0; x < den.size(); ++x) {
    most.forward = LargerOrNan(most.forward, shift[x] / den[x]);
    most.backward = LargerOrNan(most.backward, -shift[x] / (den[x] + shift[x]));
  }
  return most;
}

}  // namespace

DirectedExcess ExactExcess(std::span<const double> den, std::span<const double> shift, double rest,
                           double total, divergence::RenyiOrder order) {
  SUBMIX_CHECK(den.size() == shift.size() && rest >= 0, "one shift for every token");
  if (order.is_infinite()) return LargestRatios(den, shift);
  const divergence::DivergenceKernel kernel(order);
  Supremum forward(kernel, rest);
  Supremum backward(kernel, rest);
  for (std::size_t x = 0; x < den.size(); ++x) {
    forward.AddToken(den[x], shift[x]);
    backward.AddToken(den[x] + shift[x], -shift[x]);
  }
  return {forward.value() / total, backward.value() / total};
}

}  // namespace submix::mechanism
