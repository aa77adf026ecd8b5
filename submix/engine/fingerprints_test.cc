// What deployments and their ledgers are bound to never changes: testdata/engine/generate.py
// computes the same from the documents.
#include <fstream>
#include <map>
#include <string>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/engine/deployment.h"
#include "submix/ensemble/ensemble_directory.h"

namespace submix::engine {
namespace fingerprints_test {

// Of the deployment or the ensemble in this directory, and of what saving makes of it.
base::StatusOr<std::pair<std::string, std::string>> Fingerprints(const std::string& kind,
                                                                 const std::string& directory) {
  std::pair<std::string, std::string> both;
  for (std::string* const fingerprint : {&both.first, &both.second}) {
    if (kind == "deployment") {
      SUBMIX_ASSIGN_OR_RETURN(const auto config, LoadDeploymentConfig(directory));
      *fingerprint = base::ToHex(DeploymentFingerprint(config));
      SUBMIX_RETURN_IF_ERROR(SaveDeploymentConfig(config, directory));
    } else {
      SUBMIX_ASSIGN_OR_RETURN(const auto manifest, ensemble::LoadManifest(directory));
      *fingerprint = base::ToHex(ensemble::EnsembleFingerprint(manifest));
      SUBMIX_RETURN_IF_ERROR(ensemble::SaveManifest(manifest, directory));
    }
  }
  return both;
}

TEST(FingerprintsTest, AreThoseOfTheDocuments) {
  const base::TemporaryDirectory directory;
  std::ifstream lines(SUBMIX_TESTDATA_DIR "/engine/fingerprints.txt");
  std::map<std::string, int> counts;
  std::string kind, expected, json;
  while (lines >> kind >> expected && std::getline(lines, json)) {
    const std::string path = kind == "deployment" ? DeploymentConfigPath(directory.path())
                                                  : ensemble::ManifestPath(directory.path());
    SUBMIX_ASSERT_OK(base::WriteFile(path, json));
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto found, Fingerprints(kind, directory.path()));
    EXPECT_EQ(found.first, expected) << json;
    EXPECT_EQ(found.second, expected) << json;
    ++counts[kind];
  }
  EXPECT_EQ(counts, (std::map<std::string, int>{{"deployment", 200}, {"ensemble", 200}}));
}

}  // namespace fingerprints_test
}  // namespace submix::engine
