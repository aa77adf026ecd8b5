// What a command measured, for `submix report`: beside the deployment that it measured.
#pragma once

#include <string>
#include <vector>

#include "submix/base/digest.h"
#include "submix/base/status.h"
#include "submix/eval/pages/measurement.h"

namespace submix::apps {

// As it is now, with these words and rows (a JSON array). Errors: those of eval::MakeMeasurement.
base::StatusOr<eval::Measurement> MeasuredNow(const std::string& kind, const std::string& title,
                                              const base::Sha256Digest& ensemble,
                                              const std::string& rows);

// "Verdict: …", a sentence each.
std::vector<std::string> VerdictsInWords(const eval::Measurement& measurement);

// Keeps it if `target` is a deployment, and returns a line that says where; if it cannot be kept,
// a line that says why, since the numbers are there all the same. Empty: no deployment.
std::string KeepBesideDeployment(const eval::Measurement& measurement, const std::string& target);

}  // namespace submix::apps
