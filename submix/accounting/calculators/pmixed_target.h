// PMixED's accounting as published (Flemings, Razaviyayn and Annavaram 2024): every member is
// pulled to within beta * a nats of the public model at order a, a Poisson(p) subset of the parts
// answers, and beta is solved so that a token costs its share of the budget. Adjacency: one part
// present or absent.
//
// Research, not proven: the subset bound below uses a triangle rule that needs the ball at every
// order, not only at the declared one; beta depends on the size of the secret subset; and the tight
// amplification formula is proven for Gaussian and Laplace noise only (docs/accounting.md).
#pragma once

#include <cstdint>
#include <vector>

#include "submix/base/status.h"

namespace submix::accounting {

struct PmixedSettings {
  double epsilon = 8;                  // of the (epsilon, delta) target, over all answers
  double delta = 1e-5;                 // in (0, 1)
  std::int64_t answers = 1024;         // >= 1, fixed beforehand
  double sampling_probability = 0.03;  // of each part, in (0, 1]
  int num_parts = 80;                  // >= 1
  int order = 3;                       // >= 2
};

struct PmixedTargets {
  double rdp_per_answer = 0;  // nats at the order
  std::vector<double> beta;   // PmixedBetas of it
};

// The cost at `order` of a token from exactly `num_drawn` parts, without amplification:
//     beta * order for one part,   log((s - 1 + e^((order-1) 4 beta order)) / s) / (order - 1) for
//     s.
double PmixedSubsetRdp(double beta, int num_drawn, int order);

// The same with the tight Poisson amplification at integer order >= 2.
double PmixedTokenRdp(double beta, int num_drawn, double sampling_probability, int order);

// Indexed by the number of parts drawn, 0 … num_parts: the largest beta whose PmixedTokenRdp is at
// most `rdp` nats; its feasible end. Both a lone part and none use that of one.
std::vector<double> PmixedBetas(double rdp, int num_parts, double sampling_probability, int order);

// Errors: kInvalidArgument where a setting is out of range, or the target cannot be met at all.
base::StatusOr<PmixedTargets> PmixedTarget(const PmixedSettings& settings);

}  // namespace submix::accounting
