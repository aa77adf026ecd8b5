#include "submix/workbench/models/deployed_engine.h"

#include <vector>

#include "submix/model/end_tokens.h"
#include "submix/workbench/models/open_models.h"

namespace submix::workbench {
namespace {

using base::StatusOr;

// What ends an answer beside the tokenizer's end of text.
StatusOr<std::vector<int>> EndTokensOf(const ensemble::OpenedEnsemble& ensemble) {
  const auto& external = ensemble.manifest().external;
  if (!external) return model::LoadEndTokens(ensemble.public_directory());
  return model::LoadGenerationEnds(ensemble.public_directory(), external->vocabulary);
}

}  // namespace

StatusOr<std::unique_ptr<DeployedEngine>> OpenDeployedEngine(
    const std::string& deployment_directory, const ModelOptions& options,
    const mechanism::MechanismMaker& make, int prefix_tokens_per_key) {
  auto deployed = std::make_unique<DeployedEngine>();
  engine::Deployment& deployment = deployed->deployment;
  SUBMIX_ASSIGN_OR_RETURN(
      deployment,
      engine::OpenDeployment(deployment_directory, engine::DeploymentAccess::kCharge, make));
  SUBMIX_ASSIGN_OR_RETURN(deployed->tokenizer, LoadTokenizer(deployment.ensemble));
  SUBMIX_ASSIGN_OR_RETURN(const auto end_tokens, EndTokensOf(deployment.ensemble));
  SUBMIX_ASSIGN_OR_RETURN(deployed->predictor,
                          LoadEnsemble(options, *deployed->tokenizer, deployment.ensemble));
  deployed->random = base::MakeSystemRandomSource();
  SUBMIX_ASSIGN_OR_RETURN(
      deployed->core,
      engine::EngineCore::Create({deployed->predictor.get(), deployment.mechanism.get(),
                                  deployment.ledger.get(), deployed->tokenizer.get(),
                                  deployed->random.get(), deployment.config.options.when_exhausted,
                                  end_tokens, prefix_tokens_per_key}));
  return deployed;
}

}  // namespace submix::workbench
