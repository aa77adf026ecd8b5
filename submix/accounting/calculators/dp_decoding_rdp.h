// DP decoding (Majmudar et al. 2022): a token is drawn from l q + (1 - l)/V, l the mixing weight of
// any pmf q with the uniform one. With u = (1 - l)/V the worst two pmfs are point masses, since the
// divergence is jointly quasi-convex:
//     D_a = log((u+l)^a u^(1-a) + u^a (u+l)^(1-a) + (V-2) u) / (a - 1),
//     D_inf = log(1 + l/u) = log((1 + (V-1) l) / (1 - l)),
// the last being Theorem 1 of the paper per token. The paper reports epsilon at the *mean* number
// of tokens, which is no differential privacy: the number must be a maximum.
#pragma once

#include <cstdint>

#include "submix/divergence/renyi_order.h"

namespace submix::accounting {

// One token, whatever the data: nats, attained, the same in both directions. 0 <= mixing_weight <=
// 1, infinity at 1; anything else, NaN, or vocab_size < 1 gives infinity. Relative error below
// 1e-12.
double DpDecodingRdp(double mixing_weight, std::int64_t vocab_size, divergence::RenyiOrder order);

}  // namespace submix::accounting
