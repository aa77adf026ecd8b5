// Deployments whatever their mechanism: the programs hand the rooms below those that are not
// proven, too.
#pragma once

#include <memory>
#include <string>

#include "submix/engine/deployment.h"
#include "submix/mechanism/research/any_mechanism.h"
#include "submix/workbench/models/deployed_engine.h"

namespace submix::apps {

// To look at, beside what charges it. Errors: those of engine::OpenDeployment.
inline base::StatusOr<engine::Deployment> ReadDeployment(const std::string& directory) {
  return engine::OpenDeployment(directory, engine::DeploymentAccess::kReadOnly,
                                mechanism::MakeAnyMechanism);
}

// To answer from. Errors: those of workbench::OpenDeployedEngine.
inline base::StatusOr<std::unique_ptr<workbench::DeployedEngine>> OpenDeployedEngine(
    const std::string& directory, const workbench::ModelOptions& models,
    int prefix_tokens_per_key = 0) {
  return workbench::OpenDeployedEngine(directory, models, mechanism::MakeAnyMechanism,
                                       prefix_tokens_per_key);
}

}  // namespace submix::apps
