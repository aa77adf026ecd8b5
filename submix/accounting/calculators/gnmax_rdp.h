// GNMax: every part votes for a token, Gaussian noise of standard deviation s is added to each
// count, the token with the largest noisy count is released (Papernot et al. 2018, "Scalable
// Private Learning with PATE").
//
// Adjacency: one part's vote changes, which moves the counts by sqrt(2) in L2. Nats.
#pragma once

#include <span>

#include "submix/divergence/renyi_order.h"

namespace submix::accounting {

// a / s^2, whatever the votes (Proposition 8). NaN or a negative scale gives infinity.
double GnmaxRdp(double noise_scale, divergence::RenyiOrder order);

// The logarithm of an upper bound q on the probability that the release is not the token with most
// votes (Proposition 7): min(1 - 1/V, sum over the others j of erfc((n_max - n_j) / (2 s)) / 2).
// -infinity, a sure release, for a single token. Requires: counts not empty.
double GnmaxLogErrorBound(std::span<const double> counts, double noise_scale);

// Theorem 6 with the higher orders mu_2 and mu_1 = mu_2 + 1, for a q of this logarithm; never more
// than GnmaxRdp, which it is where the theorem's conditions do not hold (1 <= order < mu_1 among
// them). For fixed mu_2 it does not decrease with q (Lemma 9 of the paper). At order 1 and below:
// its limit at order 1. Zero at log_error = -infinity; NaN gives GnmaxRdp.
double GnmaxTheorem6(double log_error, double noise_scale, double mu_2,
                     divergence::RenyiOrder order);

// The same with Proposition 10's mu_2 = s sqrt(-log q), for these votes against all their
// neighbours. It depends on private votes, so it is private itself. Requires: counts not empty.
double GnmaxDataDependentRdp(std::span<const double> counts, double noise_scale,
                             divergence::RenyiOrder order);

}  // namespace submix::accounting
