#include "submix/eval/pages/measurement.h"

#include <algorithm>

#include "submix/base/file_system.h"
#include "submix/base/number_text.h"

namespace submix::eval {
namespace {

using base::JsonObject;
using base::StatusOr;

StatusOr<Measurement> ParseMeasurement(const std::string& text, const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject file, JsonObject::Parse(text, path));
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t format, file.Integer("format", 1, 1'000'000));
  SUBMIX_RETURN_IF_ERROR(base::CheckNotNewer(path, format, Measurement::kFormat));
  Measurement measurement;
  measurement.text = text;
  SUBMIX_ASSIGN_OR_RETURN(measurement.kind, file.Text("kind"));
  SUBMIX_ASSIGN_OR_RETURN(measurement.title, file.Text("title"));
  SUBMIX_ASSIGN_OR_RETURN(measurement.measured, file.Integer("measured", 0, 253'402'300'799));
  SUBMIX_ASSIGN_OR_RETURN(measurement.ensemble, file.Text("ensemble"));
  SUBMIX_ASSIGN_OR_RETURN(measurement.rows, file.Objects("rows"));
  if (measurement.rows.empty()) return file.FieldError("rows", "expected at least one");
  return measurement;
}

// "2026-01-31T093000Z-attack-extraction": names sort by time.
std::string StemOf(const Measurement& measurement) {
  std::string stem = base::UtcTime(measurement.measured, "%Y-%m-%dT%H%M%SZ-") + measurement.kind;
  std::ranges::replace(stem, ' ', '-');
  return stem;
}

}  // namespace

StatusOr<Measurement> MakeMeasurement(const Measurement& about, const std::string& rows) {
  return ParseMeasurement(
      "{\"format\":" + std::to_string(Measurement::kFormat) +
          ",\"kind\":" + base::JsonText(about.kind) + ",\"title\":" + base::JsonText(about.title) +
          ",\"measured\":" + std::to_string(about.measured) +
          ",\"ensemble\":" + base::JsonText(about.ensemble) + ",\"rows\":" + rows + "}\n",
      about.kind);
}

StatusOr<std::string> KeepMeasurement(const Measurement& measurement,
                                      const std::string& deployment_directory) {
  const std::string directory = MeasurementsDirectory(deployment_directory);
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(directory));
  const std::string stem = base::JoinPath(directory, StemOf(measurement));
  std::string path = stem + ".json";
  for (int again = 2; base::FileExists(path); ++again) {
    path = stem + "-" + std::to_string(again) + ".json";
  }
  SUBMIX_RETURN_IF_ERROR(base::WriteFile(path, measurement.text, 0600));
  return path;
}

std::string MeasurementsDirectory(const std::string& deployment_directory) {
  return base::JoinPath(deployment_directory, "measurements");
}

StatusOr<std::vector<Measurement>> LoadMeasurements(const std::string& directory) {
  std::vector<Measurement> measurements;
  if (!base::FileExists(directory)) return measurements;
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<std::string> names, base::ListDirectory(directory));
  for (const std::string& name : names) {
    if (!name.ends_with(".json")) continue;
    const std::string path = base::JoinPath(directory, name);
    SUBMIX_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
    StatusOr<Measurement> measurement = ParseMeasurement(text, path);
    if (!measurement.ok()) {
      return base::Status(
          measurement.status().code(),
          measurement.status().message() + "; remove the file to leave it out of the report");
    }
    measurements.push_back(*std::move(measurement));
  }
  std::ranges::stable_sort(measurements, std::greater<>(), &Measurement::measured);
  return measurements;
}

}  // namespace submix::eval
