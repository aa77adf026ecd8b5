// The Poisson-subsampled Gaussian mechanism, behind DP-SGD and DP-FedAvg (Mironov, Talwar and Zhang
// 2019; Theorem 14). Adjacency: one unit added or removed; each unit takes part with
// probability q; noise of z times the L2 sensitivity. With t = q (e^((2x - 1) / (2 z^2)) - 1):
//     D_a = log(1 + E_{x ~ N(0, z^2)} g(t)) / (a - 1),   g(t) = (1 + t)^a - 1 - a t >= 0,
// the larger of both directions. Integer orders sum the binomial form (poisson_amplification.h).
#pragma once

#include <compare>

#include "submix/divergence/renyi_order.h"

namespace submix::accounting {

// A step of DP-SGD, a round of DP-FedAvg: q and z.
struct SubsampledGaussianRun {
  double sampling_probability = 1;
  double noise_multiplier = 1;
  auto operator<=>(const SubsampledGaussianRun&) const = default;
};

// One step, in nats. All terms of the sums have one sign, so that no order and no probability loses
// digits: relative error below 1e-11. Orders below 1 get the value at order 1, which bounds theirs.
// Zero at q = 0, GaussianRdp(1/z) at q = 1. Infinity at order infinity, at z = 0, for q outside [0,
// 1], negative z and NaN.
// For z below about 0.01 at fractional orders: an upper bound from the integer orders beside it.
double SubsampledGaussianRdp(double sampling_probability, double noise_multiplier,
                             divergence::RenyiOrder order);

}  // namespace submix::accounting
