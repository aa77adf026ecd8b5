// The operator's unpaid look at a mixture, for evaluation, attacks and audits only (contract 7).
// The layering check refuses this header in server/ and engine/. Publishing what is seen here, or
// tuning by it, is a release of its own.
#pragma once

#include <cstddef>

#include "submix/mechanism/private_mixture.h"

namespace submix::mechanism {

class OperatorView {
 public:
  // Probability of one token of the support: its exact integer weight over the total.
  static double Probability(const PrivateMixture& mixture, std::size_t support_index);
  // Draws without a receipt: for attacks on simulated deployments.
  static std::size_t Draw(const PrivateMixture& mixture, base::RandomSource& random);
};

}  // namespace submix::mechanism
