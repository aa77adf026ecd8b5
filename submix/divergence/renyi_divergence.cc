#include "submix/divergence/renyi_divergence.h"

#include <algorithm>
#include <cmath>

#include "submix/base/check.h"
#include "submix/divergence/divergence_kernel.h"
#include "submix/divergence/pmf.h"

namespace submix::divergence {
namespace {

// Two pmfs as doubles: what the formulas below read. total() is what they sum to.
class PmfPair {
 public:
  PmfPair(std::span<const double> p, std::span<const double> q) : p_(p), q_(q) {
    SUBMIX_CHECK(p.size() == q.size(), "two pmfs on one support");
  }
  std::size_t size() const { return p_.size(); }
  double p(std::size_t x) const { return p_[x]; }
  double q(std::size_t x) const { return q_[x]; }
  double difference(std::size_t x) const { return p_[x] - q_[x]; }
  double total() const { return 1; }

 private:
  std::span<const double> p_;
  std::span<const double> q_;
};

// Two integer weight vectors with one total; differences are exact.
class WeightPair {
 public:
  WeightPair(std::span<const std::uint64_t> p, std::span<const std::uint64_t> q) : p_(p), q_(q) {
    SUBMIX_CHECK(p.size() == q.size(), "two weight vectors on one support");
    std::uint64_t total_q = 0;
    for (std::size_t x = 0; x < p.size(); ++x) {
      total_ += p[x];
      total_q += q[x];
    }
    SUBMIX_CHECK(total_ == total_q && total_ > 0 && total_ < (std::uint64_t{1} << 63),
                 "two weight vectors with one total");
  }
  std::size_t size() const { return p_.size(); }
  double p(std::size_t x) const { return static_cast<double>(p_[x]); }
  double q(std::size_t x) const { return static_cast<double>(q_[x]); }
  double difference(std::size_t x) const {
    return static_cast<double>(static_cast<std::int64_t>(p_[x] - q_[x]));
  }
  double total() const { return static_cast<double>(total_); }

 private:
  std::span<const std::uint64_t> p_;
  std::span<const std::uint64_t> q_;
  std::uint64_t total_ = 0;
};

template <typename Pair>
double MaxDivergence(const Pair& pair) {
  double largest = 0;  // of log(p / q); normalised pmfs have one >= 0
  for (std::size_t x = 0; x < pair.size(); ++x) {
    if (pair.p(x) == 0 && pair.q(x) >= 0) continue;
    const double t = pair.difference(x) / pair.q(x);
    // log p - log q only where p / q itself would overflow, or q is 0.
    const double log_ratio =
        t < kInfinity ? std::log1p(t) : std::log(pair.p(x)) - std::log(pair.q(x));
    if (std::isnan(log_ratio)) return kInfinity;
    largest = std::max(largest, log_ratio);
  }
  return largest;
}

// Kullback-Leibler term by term, for ratios that overflow in the kernel's form.
template <typename Pair>
double DirectKullbackLeibler(const Pair& pair) {
  CompensatedSum sum;
  for (std::size_t x = 0; x < pair.size(); ++x) {
    if (pair.p(x) == 0 && pair.q(x) >= 0) continue;
    sum.Add(pair.p(x) * (std::log(pair.p(x)) - std::log(pair.q(x))));
  }
  return sum.value() / pair.total();
}

// log(sum p^order q^(1-order)) / (order - 1) by log-sum-exp: for sums far from 1, where nothing
// cancels but terms may overflow.
template <typename Pair>
double LogDomainDivergence(const Pair& pair, double order) {
  const auto log_term = [&](std::size_t x) {
    if (pair.p(x) == 0 || (pair.q(x) == 0 && order < 1)) return -kInfinity;
    const double log_q = std::log(pair.q(x));
    return log_q + order * (std::log(pair.p(x)) - log_q);
  };
  double largest = -kInfinity;
  for (std::size_t x = 0; x < pair.size(); ++x) {
    const double term = log_term(x);
    if (std::isnan(term)) return term;
    largest = std::max(largest, term);
  }
  if (std::isinf(largest)) return largest / (order - 1);
  CompensatedSum sum;
  for (std::size_t x = 0; x < pair.size(); ++x) sum.Add(std::exp(log_term(x) - largest));
  return (largest + std::log(sum.value() / pair.total())) / (order - 1);
}

// NaN if an input is NaN.
template <typename Pair>
double FiniteOrderDivergence(const Pair& pair, RenyiOrder order) {
  const DivergenceKernel kernel(order);
  CompensatedSum sum;
  for (std::size_t x = 0; x < pair.size(); ++x) {
    sum.Add(kernel.PairTerm(pair.p(x), pair.q(x), pair.difference(x)));
  }
  const double expectation = sum.value() / pair.total();
  if (std::isnan(expectation)) return expectation;
  // Below order 1 the sum 1 + expectation may be near 0, and then the direct sum keeps its digits.
  const bool fits =
      std::isfinite(expectation) && !(order < RenyiOrder::One() && expectation < -0.5);
  if (fits) return kernel.DivergenceFromExpectation(expectation);
  if (order.is_one()) return DirectKullbackLeibler(pair);
  return LogDomainDivergence(pair, order.value());
}

template <typename Pair>
double Divergence(const Pair& pair, RenyiOrder order) {
  const double divergence =
      order.is_infinite() ? MaxDivergence(pair) : FiniteOrderDivergence(pair, order);
  return std::isnan(divergence) ? kInfinity : std::max(divergence, 0.0);
}

}  // namespace

double RenyiDivergence(std::span<const double> p, std::span<const double> q, RenyiOrder order) {
  return Divergence(PmfPair(p, q), order);
}

double RenyiDivergence(std::span<const std::uint64_t> p, std::span<const std::uint64_t> q,
                       RenyiOrder order) {
  return Divergence(WeightPair(p, q), order);
}

double SymmetricRenyiDivergence(std::span<const double> p, std::span<const double> q,
                                RenyiOrder order) {
  return std::max(RenyiDivergence(p, q, order), RenyiDivergence(q, p, order));
}

double SymmetricRenyiDivergence(std::span<const std::uint64_t> p, std::span<const std::uint64_t> q,
                                RenyiOrder order) {
  return std::max(RenyiDivergence(p, q, order), RenyiDivergence(q, p, order));
}

}  // namespace submix::divergence
