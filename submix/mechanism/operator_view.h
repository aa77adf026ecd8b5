// The operator's unpaid look at a mixture, for evaluation, attacks and audits only (contract 7).
// The layering check refuses this header in server/ and engine/. Publishing what is seen here, or
// tuning by it, is a release of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/private_mixture.h"
#include "submix/mechanism/private_screen.h"

namespace submix::mechanism {

class OperatorView {
 public:
  // Who takes part in what the operator looks at: the parts that paid or, with a mechanism that is
  // not private and that nobody can pay for, everybody.
  static std::vector<bool> Participants(const Mechanism& mechanism, std::vector<bool> paid);
  // Probability of one token of the support: its exact integer weight over the total.
  static double Probability(const PrivateMixture& mixture, std::size_t support_index);
  // Opens a screen without a receipt.
  static base::StatusOr<std::unique_ptr<Proposal>> Open(
      PrivateScreen&& screen, base::RandomSource& random,
      std::span<const accounting::FixedNats> remaining, base::ReleaseId next);
  // Draws without a receipt: for attacks on simulated deployments.
  static std::size_t Draw(const PrivateMixture& mixture, base::RandomSource& random);
};

}  // namespace submix::mechanism
