// The exact (epsilon, delta) curve of a fixed number of tokens, between bounds: what the Rényi
// conversions approximate from above. A report only. It holds where the number of tokens and their
// parameters are fixed beforehand or public; it says nothing about filters, whose stopping depends
// on what was spent: those are established for Rényi divergence alone.
#pragma once

#include <functional>

#include "submix/accounting/calculators/bounded_range_composition.h"
#include "submix/accounting/calculators/privacy_event.h"
#include "submix/base/status.h"

namespace submix::accounting {

// delta at an epsilon >= 0.
using PrivacyProfile = std::function<Bracket(double epsilon)>;

// For Laplace and DP decoding (privacy_loss_distribution.h) and bounded range
// (bounded_range_composition.h). The neighbours are those of each run's accountant.
// Errors: kUnimplemented for other runs and for too many tokens, kInvalidArgument for a count
// below 1, and for parameters out of range or without any privacy.
base::StatusOr<PrivacyProfile> ComposedProfile(const PrivacyEvent& event);

// The least epsilon >= 0 with at most this delta lies between the two. The upper one is infinite if
// the upper curve never falls so low. Errors: kInvalidArgument unless 0 < delta < 1.
base::StatusOr<Bracket> ComposedEpsilon(const PrivacyProfile& profile, double delta);

}  // namespace submix::accounting
