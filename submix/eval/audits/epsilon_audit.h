// A lower bound on epsilon from what was seen: transcripts of two neighbouring worlds, scored by
// any statistic. Half of them choose an event, the other half say how often it happens in each
// world, with exact confidence bounds; a true epsilon must allow these two rates. Source:
// Jagielski, Ullman and Oprea 2020, with the Rényi divergence of the two rates beside (epsilon,
// delta).
#pragma once

#include <span>

#include "submix/accounting/rdp_conversion.h"
#include "submix/divergence/renyi_order.h"

namespace submix::eval {

struct AuditOptions {
  divergence::RenyiOrder order = divergence::RenyiOrder::Two();
  double delta = accounting::kDefaultDelta;
  double error = 0.05;  // each of the two bounds may be wrong with this probability
};

// Lower bounds; zero if nothing was found.
struct EpsilonAudit {
  double rdp = 0;      // nats at the order
  double epsilon = 0;  // at the delta
};

// Scores of independent transcripts, such as log likelihood ratios. Requires: at least two of each,
// no NaN; 0 < delta < 1, 0 < error < 1.
EpsilonAudit AuditEpsilon(std::span<const double> with, std::span<const double> without,
                          const AuditOptions& options);

// What an event proves that has at least probability p in one world and at most q in the other: the
// least epsilon, or nats, that allow it. For epsilon log((p - delta) / q), or the same for the
// complement. At least 0.
double ProvenEpsilon(double p, double q, double delta);
double ProvenRdp(double p, double q, divergence::RenyiOrder order);

}  // namespace submix::eval
