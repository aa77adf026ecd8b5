#include "submix/base/check.h"
#include "submix/engine/api_keys.h"
#include "submix/engine/deployment.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/fuzzed_directory.h"

namespace submix::fuzz {

void FuzzDeployment(std::string_view input) {
  static const FuzzedDirectory directory;
  directory.Put("keys.json", input);
  (void)engine::ApiKeys(directory.path()).List();

  directory.Put("deployment.json", input);
  const auto config = engine::LoadDeploymentConfig(directory.path());
  if (!config.ok()) return;
  SUBMIX_CHECK(engine::SaveDeploymentConfig(*config, directory.path()).ok(),
               "what was read can be written");
  const auto again = engine::LoadDeploymentConfig(directory.path());
  SUBMIX_CHECK(
      again.ok() && engine::DeploymentFingerprint(*again) == engine::DeploymentFingerprint(*config),
      "and is the same deployment");
}

}  // namespace submix::fuzz
