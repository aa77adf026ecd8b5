// Theorem 2's charge of a law that is given as a pmf, not as integers.
#pragma once

#include <span>
#include <vector>

#include "submix/base/check.h"
#include "submix/divergence/renyi_order.h"
#include "submix/mechanism/shift_excess.h"
#include "submix/mechanism/submix_charge.h"

namespace submix::mechanism {

// The exact charge, in nats, of a part that mixes `part_law` (m) into the mean of `num_parts` laws
// which are all at least `floor` * public_pmf: one direction each; the charge is the larger.
// Requires: pmfs of equal size, public_pmf > 0, num_parts >= 1, 0 <= floor <= 1, order >= 1.
inline DirectedExcess ExactCharge(std::span<const double> part_law,
                                  std::span<const double> public_pmf, int num_parts, double floor,
                                  divergence::RenyiOrder order) {
  SUBMIX_CHECK(part_law.size() == public_pmf.size() && num_parts >= 1 && floor >= 0 && floor <= 1,
               "a part's law on the public support, a floor in [0, 1]");
  const double others = num_parts - 1;
  std::vector<double> den(part_law.size());
  std::vector<double> shift(part_law.size());
  for (std::size_t x = 0; x < part_law.size(); ++x) {
    den[x] = (1 + others * floor) * public_pmf[x] / num_parts;
    shift[x] = (part_law[x] - public_pmf[x]) / num_parts;
  }
  const DirectedExcess excess = ExactExcess(den, shift, others * (1 - floor) / num_parts, 1, order);
  const ShiftExcess nats(order);
  return {nats.Nats(excess.forward), nats.Nats(excess.backward)};
}

}  // namespace submix::mechanism
