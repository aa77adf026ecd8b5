// How well anybody can guess a secret that one part (or one user) holds, from everything that is
// released: the text extraction game of the SubMix paper, appendix D. The secret is one of m
// candidates; success is the least, over the candidates, of the probability of a right guess.
#pragma once

#include "submix/accounting/rdp_conversion.h"

namespace submix::accounting {

// Fano's inequality as in the paper's Theorem D.2: (nats + log 2) / log m, at most 1. `nats` bounds
// the Kullback-Leibler divergence between the releases of any two candidates, so a bound at any
// order of at least 1 under replacement will do. The paper multiplies epsilon by the number of
// users who hold the secret; that is not a bound: pass what group_privacy.h gives for that many.
double FanoExtractionBound(double nats, double num_candidates);

// Probability preservation: (e^rdp / m)^((a-1)/a), at most 1; at order infinity e^rdp / m. It needs
// only that the release of every candidate is within `rdp` of one and the same reference, such as
// the part replaced by the public model. Proof: the guesses are disjoint events, so under the
// reference one of them has probability 1/m at most. Orders of 1 and below say nothing: 1.
double RenyiExtractionBound(const RdpBound& bound, double num_candidates);

}  // namespace submix::accounting
