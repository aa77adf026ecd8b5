#include "submix/apps/serving/deployed_engine.h"

#include <utility>

#include "submix/ensemble/ensemble_directory.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::apps {

using base::StatusOr;

StatusOr<std::unique_ptr<DeployedEngine>> OpenDeployedEngine(
    const std::string& deployment_directory, const PredictorFlags& flags) {
  auto deployed = std::make_unique<DeployedEngine>();
  SUBMIX_ASSIGN_OR_RETURN(
      deployed->deployment,
      engine::OpenDeployment(deployment_directory, engine::DeploymentAccess::kCharge,
                             mechanism::MakeAnyMechanism));
  const std::string& ensemble_directory = deployed->deployment.config.ensemble_directory;
  SUBMIX_ASSIGN_OR_RETURN(deployed->tokenizer, tokenizer::Tokenizer::Load(
                                                   ensemble::PublicDirectory(ensemble_directory)));
  SUBMIX_ASSIGN_OR_RETURN(deployed->predictor, LoadEnsembles(flags, ensemble_directory, {}));
  deployed->random = base::MakeSystemRandomSource();
  SUBMIX_ASSIGN_OR_RETURN(
      deployed->core,
      engine::EngineCore::Create({deployed->predictor.get(), deployed->deployment.mechanism.get(),
                                  deployed->deployment.ledger.get(), deployed->tokenizer.get(),
                                  deployed->random.get(),
                                  deployed->deployment.config.options.when_exhausted}));
  return deployed;
}

}  // namespace submix::apps
