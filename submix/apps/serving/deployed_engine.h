// A deployment with its models loaded: what `generate` and `demo` ask.
#pragma once

#include <memory>
#include <string>

#include "submix/apps/serving/predictor_flags.h"
#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/engine/deployment.h"
#include "submix/engine/engine_core.h"
#include "submix/ensemble/predictor.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::apps {

// Owns everything the engine stands on.
struct DeployedEngine {
  engine::Deployment deployment;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  std::unique_ptr<ensemble::Predictor> predictor;
  std::unique_ptr<base::RandomSource> random;
  std::unique_ptr<engine::EngineCore> core;
};

// Opens a deployment for charging and loads its models. Errors: those of OpenDeployment and of the
// models' files.
base::StatusOr<std::unique_ptr<DeployedEngine>> OpenDeployedEngine(
    const std::string& deployment_directory, const PredictorFlags& flags);

}  // namespace submix::apps
