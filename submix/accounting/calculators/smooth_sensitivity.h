// Publishing a data-dependent privacy cost: the cost itself depends on private data, so it is
// released with Gaussian noise that is scaled to its smooth sensitivity (Nissim, Raskhodnikova and
// Smith 2007; Papernot et al. 2018, appendix B).
//
// Local sensitivities: ls[d] bounds how much the cost can change between two neighbouring data sets
// of which one is within d changes of the data at hand. Those of a sum of costs add up, element by
// element.
#pragma once

#include <span>
#include <vector>

#include "submix/base/status.h"
#include "submix/divergence/renyi_order.h"

namespace submix::accounting {

// A bound on GNMax's cost at `order` for votes whose error probability has this logarithm
// (GnmaxLogErrorBound): the least of Theorem 6 over a fixed grid of higher orders. Each of these,
// and so their least, does not decrease with q, which Proposition 10's choice is not known to do.
// This is the cost whose sensitivity follows. Nats; never more than GnmaxRdp.
double GnmaxMonotoneRdp(double log_error, double noise_scale, divergence::RenyiOrder order);

// Bounds on the local sensitivities of GnmaxMonotoneRdp for d = 0 … num_parts changed votes. Those
// at d are at most those of every neighbour at d + 1, so that SmoothSensitivity is smooth. Why:
// docs/accounting.md. Requires: counts not empty, with a sum of at most num_parts; noise_scale > 0;
// order finite.
std::vector<double> GnmaxLocalSensitivities(std::span<const double> counts, double noise_scale,
                                            divergence::RenyiOrder order, int num_parts);

// The largest e^(-beta d) ls[d]: within a factor e^(+-beta) of that of every neighbour.
double SmoothSensitivity(std::span<const double> local_sensitivities, double beta);

struct SmoothRelease {
  double beta = 0.01;           // of SmoothSensitivity, > 0
  double noise_multiplier = 1;  // s: the noise has s times the smooth sensitivity; > 0
};

// What publishing cost + SmoothSensitivity * N(0, s^2) costs at `order`: the supremum of the
// divergence of two Gaussians whose scales differ by a factor within e^(+-beta) and whose means by
// no more than the smaller smooth sensitivity. It is reached at r = e^-beta:
//     a r^2 / (2 s^2 v) - (a beta + log(v) / 2) / (a - 1),   v = 1 - a (1 - r^2) > 0.
// Errors: kInvalidArgument unless beta, s > 0 and 1 < a < 1 / (1 - r^2): beyond that it is
// infinite.
base::StatusOr<double> SmoothReleaseRdp(const SmoothRelease& release, divergence::RenyiOrder order);

// Theorem 23 of the 2018 paper, for reproducing it only:
//     a e^(2 beta) / s^2 + (beta a - log(1 - 2 a beta) / 2) / (a - 1),   1 < a < 1 / (2 beta).
// It is too small where 2 a beta is near 1: at a = 20, beta = 0.49 / 20, s = 5, the setting of the
// authors' programs, it says .969 where the divergence is 8.788. Errors: kInvalidArgument.
base::StatusOr<double> SmoothReleaseRdpAsPublished(const SmoothRelease& release,
                                                   divergence::RenyiOrder order);

}  // namespace submix::accounting
