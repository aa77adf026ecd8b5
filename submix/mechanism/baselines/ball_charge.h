// What a token costs when every part stays within a ball around the public model (Theorem 7):
// m_j in [e^-b, e^b] h0 pointwise, so that a part can never move the law by more than a public
// constant, whatever the data and whatever the other parts do.
//
//     h = (1 - q) h0 + (q / k) sum m_j,   h / h' in [1 - l, 1 + u],
//     u = (e^b - 1) / c,   l = (1 - e^-b) / c,   c = k (1 - q) / q + 1 + (k - 1) e^-b,
//     D_a(h || h') <= log( (l (1+u)^a + u (1-l)^a) / (l + u) ) / (a - 1)      (a chord, E ratio =
//     1)
//
// q is the probability that the ensemble is asked at all; 1 for a plain mean (T2b's own case).
#pragma once

#include "submix/divergence/renyi_order.h"

namespace submix::mechanism {

struct Ball {
  double radius = 0;         // b, in nats; >= 0
  int num_parts = 1;         // k
  double answer_weight = 1;  // q, in (0, 1]
};

// The larger direction of D_order between the law and the one with a part replaced by the public
// model, in nats. Requires: order >= 1.
double BallCharge(const Ball& ball, divergence::RenyiOrder order);

// The same with a part replaced by any other part in the ball (adjacency "replace"): the ratio is
// within [1/M, M], M = 1 + (q/k) (e^b - e^-b) / (1 - q + q e^-b).
double BallReplaceCharge(const Ball& ball, divergence::RenyiOrder order);

// The largest radius found, up to 8 nats, with a BallCharge of at most limit_nats; 0 if none.
double LargestBallRadius(int num_parts, double answer_weight, divergence::RenyiOrder order,
                         double limit_nats);

}  // namespace submix::mechanism
