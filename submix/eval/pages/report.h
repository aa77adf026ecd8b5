// One page about a deployment that a privacy officer can read: what is promised and to whom, what
// was spent, what attacks and audits found, what is not covered, and how the deployment answers
// the guidelines of NIST SP 800-226. And what of it may be published, as JSON.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/engine/deployment.h"
#include "submix/eval/pages/declared_statements.h"
#include "submix/eval/pages/measurement.h"

namespace submix::eval {

struct ReportedDeployment {
  const engine::Deployment& deployment;
  std::string name;
  std::time_t date = 0;  // seconds since 1970
  DeclaredStatements declared = {};
};

// HTML, self-contained, for the operator: it shows what was spent. `measurements`: the newest
// first, as LoadMeasurements has them. `directories` hold what `reproduce`, `attack` and `audit`
// wrote as CSV and SVG (ResultsHtml). Checks the ledger's whole chain. Errors: the ledger's, such
// as kDataLoss for a broken chain; ResultsHtml's.
base::StatusOr<std::string> DeploymentReport(const ReportedDeployment& reported,
                                             const std::vector<Measurement>& measurements,
                                             const std::vector<std::string>& directories);

// Promise, declaration, statements and guidelines: nothing that depends on private text or on what
// was spent. So the ensemble's fingerprint is not there: whoever knows all text but one user's
// could train on a guess and compare. One JSON object, ended by a newline. Schema:
// docs/deployment_format.md.
std::string PublicReportJson(const ReportedDeployment& reported);

}  // namespace submix::eval
