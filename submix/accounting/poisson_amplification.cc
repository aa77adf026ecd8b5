#include "submix/accounting/poisson_amplification.h"

#include <algorithm>
#include <cmath>

#include "submix/accounting/log_space.h"
#include "submix/base/check.h"

namespace submix::accounting {

namespace {

// A sum that keeps what each addition rounds off, by Kahan's method.
class CompensatedSum {
 public:
  explicit CompensatedSum(long double first) : sum_(first) {}
  void Add(long double term) {
    const long double lost_before = term - lost_;
    const long double sum = sum_ + lost_before;
    lost_ = (sum - sum_) - lost_before;
    sum_ = sum;
  }
  long double value() const { return sum_; }

 private:
  long double sum_;
  long double lost_ = 0;
};

}  // namespace

double PoissonAmplifiedRdp(const std::function<long double(int)>& rdp_at_order,
                           double sampling_probability, int order) {
  SUBMIX_CHECK(order >= 2, "amplification is stated for integer orders from 2");
  // Terms of 10^6 and more cancel in the logarithms: of these, doubles keep ten digits.
  const long double p = sampling_probability;
  if (!(p >= 0 && p <= 1)) return kInfinity;
  if (p == 0) return 0;
  const double without_sampling = CostOrInfinity(static_cast<double>(rdp_at_order(order)));
  if (p == 1) return without_sampling;
  const long double log_odds = std::log(p) - std::log1p(-p);
  CompensatedSum log_weight(order * std::log(p));  // of k = order
  LogSumOf<long double> excess;
  // At large orders the last terms outweigh nearly all others, which then need no exponential.
  for (int k = order; k >= 2; --k) {
    const long double rdp = rdp_at_order(k);
    if (!(rdp >= 0)) return kInfinity;
    const long double exponent = (k - 1) * rdp;
    if (exponent > 0) excess.Add(log_weight.value() + LogExpm1(exponent));
    log_weight.Add(std::log(static_cast<long double>(k) / (order - k + 1)) - log_odds);
  }
  return std::min(without_sampling, RdpFromLogExcess(static_cast<double>(excess.value()), order));
}

}  // namespace submix::accounting
