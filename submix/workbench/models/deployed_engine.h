// A deployment with its models, ready to answer.
#pragma once

#include <memory>
#include <string>

#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/engine/deployment.h"
#include "submix/engine/engine_core.h"
#include "submix/ensemble/predictor.h"
#include "submix/tokenizer/tokenizer.h"
#include "submix/workbench/models/model_options.h"

namespace submix::workbench {

// Owns everything the engine stands on.
struct DeployedEngine {
  engine::Deployment deployment;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  std::unique_ptr<ensemble::Predictor> predictor;
  std::unique_ptr<base::RandomSource> random;
  std::unique_ptr<engine::EngineCore> core;
};

// Opens a deployment for charging and loads its models. `make` knows the mechanisms that may
// answer. Errors: those of OpenDeployment and of the models' files.
base::StatusOr<std::unique_ptr<DeployedEngine>> OpenDeployedEngine(
    const std::string& deployment_directory, const ModelOptions& options,
    const mechanism::MechanismMaker& make, int prefix_tokens_per_key = 0);

}  // namespace submix::workbench
