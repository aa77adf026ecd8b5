// One page about a deployment that a privacy officer can read: what is promised and to whom, what
// has been spent, what the figures, attacks and audits found, where it all comes from.
#pragma once

#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/engine/deployment.h"

namespace submix::eval {

// The column in which attacks and audits name what they were run on: the ensemble's fingerprint,
// hex.
inline constexpr char kEnsembleColumn[] = "ensemble";

// HTML, self-contained. `directories` hold what `reproduce`, `attack` and `audit` wrote: every SVG
// is shown with the CSV of its name, every other CSV as a table. A CSV whose kEnsembleColumn
// names another ensemble than the deployment's is said to be no evidence about it. Checks the
// ledger's whole chain. Errors: the ledger's, such as kDataLoss for a broken chain; those of
// reading the directories; kInvalidArgument for a CSV that is none, naming it.
base::StatusOr<std::string> DeploymentReport(const engine::Deployment& deployment,
                                             const std::vector<std::string>& directories);

}  // namespace submix::eval
