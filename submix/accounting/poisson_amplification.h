// Privacy amplification by Poisson subsampling: every part takes part in a token with probability
// p, independently. Zhu and Wang, "Poisson Subsampled Renyi Differential Privacy" (ICML 2019).
//
// Adjacency: one part present or absent. Integer orders a >= 2; D(k) bounds the mechanism without
// subsampling at order k, on every subset. With b(k) = binomial(a, k) (1-p)^(a-k) p^k:
//     D' = log(1 + sum_{k=2..a} b(k) (e^((k-1) D(k)) - 1)) / (a - 1),
// their tight form less sum_k b(k) = 1, so that nothing cancels for small p. It is exact for
// Gaussian and Laplace noise. For any mechanism it is the divergence of "present" from "absent";
// the other direction may cost more, so that for other mechanisms, PMixED's among them, it is not
// proven. What holds for every mechanism is the same with 3 e^((k-1) D(k)) for k >= 3 (their
// Theorem 5), that is with D(k) + log(3) / (k - 1); the test compares.
#pragma once

#include <functional>

namespace submix::accounting {

// Nats at `order` after subsampling, from `rdp_at_order`, which is called with 2, 3, …, `order`.
// Never more than rdp_at_order(order). Infinity if a bound is infinite, NaN or negative, or if
// sampling_probability is not in [0, 1]. At probability 0 zero, at 1 rdp_at_order(order). Requires:
// order >= 2. Relative error below 1e-11 for orders up to 10^5, if rdp_at_order has none: where
// b(k) is small and e^((k-1) D(k)) large, an error of D(k) counts (k-1) D(k)-fold.
double PoissonAmplifiedRdp(const std::function<long double(int)>& rdp_at_order,
                           double sampling_probability, int order);

}  // namespace submix::accounting
