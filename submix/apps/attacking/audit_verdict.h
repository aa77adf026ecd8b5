// What the audits of epsilon say of a claim, and how they end.
#pragma once

#include <string>

#include "submix/apps/attacking/attack_target.h"
#include "submix/apps/flags.h"
#include "submix/apps/measuring/account_report.h"
#include "submix/base/status.h"

namespace submix::apps {

// The flags --delta and --error.
void AddAuditErrorFlags(Flags flags, double& delta, double& error);

// "no claim", "not refuted", "REFUTED" for a sound mechanism, "exceeded" for one whose claim is not
// proven.
std::string AuditVerdict(const AttackedMechanism& attacked, bool has_claim, bool is_within);

// Ok unless a row's "verdict" is REFUTED; then kFailedPrecondition.
base::Status RefutedError(const AccountReport& report, double error);

// Where members were asked for, which serve no mixture.
base::Status NoMixtureError();

}  // namespace submix::apps
