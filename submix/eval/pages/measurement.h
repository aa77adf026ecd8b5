// What an attack, an audit or an evaluation of a deployment found, as a file beside it: the rows of
// numbers that the command prints, and which ensemble they are about. Format:
// docs/deployment_format.md.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "submix/base/json_object.h"
#include "submix/base/status.h"

namespace submix::eval {

// An immutable value.
struct Measurement {
  static constexpr int kFormat = 1;

  std::string kind;                         // the command's name: "attack extraction"
  std::string title;                        // what was done, in a line: "16 runs of 60 tokens"
  std::time_t measured = 0;                 // seconds since 1970
  std::string ensemble;                     // the fingerprint of what was measured, hex
  std::vector<base::JsonObject> rows = {};  // as `--json` of the command has them; at least one
  std::string text = {};                    // the whole file
};

// `about` with these rows, a JSON array of objects. Errors: kInvalidArgument if it is none, or
// empty.
base::StatusOr<Measurement> MakeMeasurement(const Measurement& about, const std::string& rows);

// Adds a file to DEPLOYMENT/measurements, whole or not at all; those that are there stay. For the
// operator alone: mode 0600. Returns its path. Errors: those of writing.
base::StatusOr<std::string> KeepMeasurement(const Measurement& measurement,
                                            const std::string& deployment_directory);

// DEPLOYMENT/measurements.
std::string MeasurementsDirectory(const std::string& deployment_directory);

// Every measurement in the directory (files *.json), the newest first; none if there is no such
// directory. Errors: kInvalidArgument naming the file and the field; kFailedPrecondition for a
// newer format.
base::StatusOr<std::vector<Measurement>> LoadMeasurements(const std::string& directory);

}  // namespace submix::eval
