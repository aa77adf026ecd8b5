// Tables and figures that commands left as CSV and SVG, for the operator's page.
#pragma once

#include <string>

#include "submix/base/status.h"

namespace submix::eval {

// The column in which attacks and audits name what they were run on: the ensemble's fingerprint,
// hex; and that of what is promised, in words. Both are said once, not in every row.
inline constexpr char kEnsembleColumn[] = "ensemble";
inline constexpr char kPromiseColumn[] = "promise";

// Every CSV of the directory as a table with four digits, below the SVG of its name. One whose
// kEnsembleColumn names another ensemble than `fingerprint` is said to be no evidence. Errors:
// those of reading; kInvalidArgument for a directory without a CSV, and for a CSV that is none,
// naming it.
base::StatusOr<std::string> ResultsHtml(const std::string& directory,
                                        const std::string& fingerprint);

// Said of numbers that were measured on the ensemble with this fingerprint instead.
std::string NoEvidence(const std::string& fingerprint);

}  // namespace submix::eval
