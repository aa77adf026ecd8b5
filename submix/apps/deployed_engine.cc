#include "submix/apps/deployed_engine.h"

#include <utility>

#include "submix/ensemble/ensemble_directory.h"
#include "submix/train/torch_predictor.h"

namespace submix::apps {

using base::StatusOr;

StatusOr<std::unique_ptr<ensemble::Predictor>> LoadPredictor(
    const std::string& public_directory, const std::vector<std::string>& member_directories) {
  train::TorchPredictorOptions options;
  options.public_directory = public_directory;
  options.member_directories = member_directories;
  options.precision = train::Precision::kBfloat16;
  return train::TorchPredictor::Load(options);
}

StatusOr<std::unique_ptr<ensemble::Predictor>> LoadEnsemblePredictor(
    const std::string& ensemble_directory, const std::vector<std::string>& extra_members) {
  SUBMIX_ASSIGN_OR_RETURN(const auto manifest, ensemble::LoadManifest(ensemble_directory));
  std::vector<std::string> members;
  for (const ensemble::MemberEntry& member : manifest.members) {
    if (!member.complete) {
      return base::FailedPreconditionError(ensemble_directory + ": " + member.directory +
                                           " is not trained yet; run the same `submix train` again "
                                           "to finish");
    }
    members.push_back(ensemble::MemberPath(ensemble_directory, member));
  }
  members.insert(members.end(), extra_members.begin(), extra_members.end());
  return LoadPredictor(ensemble::PublicDirectory(ensemble_directory), members);
}

StatusOr<std::unique_ptr<DeployedEngine>> OpenDeployedEngine(
    const std::string& deployment_directory) {
  auto deployed = std::make_unique<DeployedEngine>();
  SUBMIX_ASSIGN_OR_RETURN(
      deployed->deployment,
      engine::OpenDeployment(deployment_directory, engine::DeploymentAccess::kCharge));
  const std::string& ensemble_directory = deployed->deployment.config.ensemble_directory;
  SUBMIX_ASSIGN_OR_RETURN(deployed->tokenizer, tokenizer::Tokenizer::Load(
                                                   ensemble::PublicDirectory(ensemble_directory)));
  SUBMIX_ASSIGN_OR_RETURN(deployed->predictor, LoadEnsemblePredictor(ensemble_directory, {}));
  deployed->random = base::MakeSystemRandomSource();
  SUBMIX_ASSIGN_OR_RETURN(
      deployed->core,
      engine::EngineCore::Create({deployed->predictor.get(), deployed->deployment.mechanism.get(),
                                  deployed->deployment.ledger.get(), deployed->tokenizer.get(),
                                  deployed->random.get()}));
  return deployed;
}

}  // namespace submix::apps
