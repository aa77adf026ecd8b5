#include "submix/apps/measuring/kept_measurement.h"

#include <ctime>

#include "submix/base/file_system.h"
#include "submix/engine/deployment.h"
#include "submix/eval/pages/measurement_verdicts.h"

namespace submix::apps {

base::StatusOr<eval::Measurement> MeasuredNow(const std::string& kind, const std::string& title,
                                              const base::Sha256Digest& ensemble,
                                              const std::string& rows) {
  return eval::MakeMeasurement({kind, title, std::time(nullptr), base::ToHex(ensemble)}, rows);
}

std::vector<std::string> VerdictsInWords(const eval::Measurement& measurement) {
  std::vector<std::string> words;
  for (const eval::Verdict& verdict : eval::VerdictsOf(measurement)) {
    words.push_back("Verdict: " + verdict.sentence);
  }
  return words;
}

std::string KeepBesideDeployment(const eval::Measurement& measurement, const std::string& target) {
  if (!base::FileExists(engine::DeploymentConfigPath(target))) return "";
  const auto path = eval::KeepMeasurement(measurement, target);
  if (!path.ok()) return "Not kept for `submix report`: " + path.status().message();
  return "Kept for `submix report`: " + *path;
}

}  // namespace submix::apps
