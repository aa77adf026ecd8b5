// What a mechanism claims under a budget, in the terms of tests: how well anybody can tell two
// neighbouring worlds apart if the claim is true.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submix/accounting/privacy_statement.h"
#include "submix/accounting/rdp_conversion.h"
#include "submix/base/status.h"
#include "submix/mechanism/mechanism.h"

namespace submix::eval {

struct ClaimedBounds {
  // Hold at the same time, in both directions; the declared order first. Empty: nothing is claimed.
  std::vector<accounting::RdpBound> bounds;
  // What follows from them by the improved conversion, at the best order.
  double epsilon = 0;  // at the delta that was asked for; infinity if nothing is claimed
  // Unit, adjacency, proof: what stands beside every number of the claim, in one line; and the
  // statement that says so, none if nothing is claimed.
  std::string labels;
  std::optional<accounting::PrivacyStatement> statement = {};
};

// At part level, or for one user key whose records change (which only sound mechanisms claim).
// Errors: kInvalidArgument for a delta outside (0, 1) or another unit.
base::StatusOr<ClaimedBounds> ClaimOf(const mechanism::Mechanism& mechanism, double epsilon,
                                      accounting::PrivacyUnit unit, double delta);

// The largest true positive rate that a test of this false positive rate can have: what two coins
// may differ by within all bounds. Requires: 0 <= false_positives <= 1.
double MostTruePositives(const ClaimedBounds& claim, double false_positives);

// The largest difference of the two rates, and the largest area under a ROC curve.
double MostAdvantage(const ClaimedBounds& claim);
double MostArea(const ClaimedBounds& claim);

}  // namespace submix::eval
