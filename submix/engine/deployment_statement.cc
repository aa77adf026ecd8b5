#include "submix/engine/deployment_statement.h"

#include "submix/accounting/trained_public.h"

namespace submix::engine {
namespace {

accounting::PublicTraining TrainingOf(const ensemble::TrainingCost& cost,
                                      const ensemble::Manifest& manifest) {
  const auto trained_on = manifest.hyper_parameters.find(ensemble::kPublicTrainedOn);
  return {.mechanism = cost.mechanism,
          .step = {cost.sampling_probability, cost.noise_multiplier},
          .steps = cost.steps,
          .unit = cost.unit_is_user ? accounting::PrivacyUnit::kUserKey
                                    : accounting::PrivacyUnit::kTrainingExample,
          .same_users = trained_on == manifest.hyper_parameters.end() ||
                        trained_on->second != ensemble::kOtherUsers};
}

}  // namespace

accounting::Promise DeploymentPromise(const Deployment& deployment) {
  accounting::PrivacyStatement answers = deployment.mechanism->Statement(
      accounting::FixedNats::RoundDown(deployment.config.options.epsilon));
  answers.delta = deployment.config.options.delta;
  if (!deployment.public_training.has_value()) return PromiseOf(answers);
  return PromiseAbovePublicTraining(answers,
                                    TrainingOf(*deployment.public_training, deployment.manifest));
}

}  // namespace submix::engine
