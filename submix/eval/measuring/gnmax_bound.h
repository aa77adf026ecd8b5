// What the SubMix paper prints for GNMax (its Appendix B.4): not the perplexity of the mechanism's
// law but a lower bound of it, from an upper bound of the true token's probability.
#pragma once

#include <cstddef>

#include "submix/mechanism/part_predictions.h"

namespace submix::eval {

// min(1 / #{z : n_z >= n_x}, Pr[N(n_x - n_{z*}, 2 s^2) >= 0]), n the parts' votes for their
// likeliest tokens, z* the token besides x with most votes, s the noise scale in votes. In (0, 1];
// at least the probability that x wins the vote; a token of Gnmax is at times a uniform one.
// Requires: true_index in the support, of at least 2 tokens; s > 0.
double GnmaxProbabilityBound(const mechanism::PartPredictions& predictions, std::size_t true_index,
                             double noise_scale);

}  // namespace submix::eval
