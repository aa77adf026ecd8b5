// What happened, as values, kept apart from how it is counted (after dp_accounting's DpEvent): a
// stored history can be counted again by a better accountant. An event's meaning never changes; a
// new one is a new struct.
#pragma once

#include <cstdint>
#include <variant>

#include "submix/accounting/subsampled_gaussian_rdp.h"
#include "submix/divergence/renyi_order.h"

namespace submix::accounting {

// Noise of scale noise_multiplier times the query's L1 sensitivity.
struct LaplaceRun {
  double noise_multiplier = 1;
  auto operator<=>(const LaplaceRun&) const = default;
};
// Votes with Gaussian noise on every count, worst case; one vote changes.
struct GnmaxRun {
  double noise_scale = 1;
  auto operator<=>(const GnmaxRun&) const = default;
};
// A token whose log probabilities move within this range: DClip, 2 C / (k tau).
struct BoundedRangeRun {
  double range = 0;
  auto operator<=>(const BoundedRangeRun&) const = default;
};
// A token from mixing_weight * (any pmf) + (1 - mixing_weight) * uniform.
struct DpDecodingRun {
  double mixing_weight = 0;
  std::int64_t vocab_size = 1;
  auto operator<=>(const DpDecodingRun&) const = default;
};
// Anything that is bounded at one order only, such as a filter's whole budget. It bounds the orders
// below, and nothing above.
struct OneOrderRun {
  double order = 2;
  double rdp = 0;
  auto operator<=>(const OneOrderRun&) const = default;
};

using MechanismRun = std::variant<SubsampledGaussianRun, LaplaceRun, GnmaxRun, BoundedRangeRun,
                                  DpDecodingRun, OneOrderRun>;

// `count` runs with the same parameters, one after another, each free to look at what came before.
struct PrivacyEvent {
  MechanismRun run;
  std::int64_t count = 1;
  auto operator<=>(const PrivacyEvent&) const = default;
};

// What one run costs at this order, in nats, in both directions: the header of each accountant says
// which neighbours are meant. Parameters out of range, NaN among them, cost infinity.
double RunRdp(const MechanismRun& run, divergence::RenyiOrder order);

}  // namespace submix::accounting
