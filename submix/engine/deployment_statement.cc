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

std::vector<std::string> StatementLines(const Deployment& deployment) {
  const accounting::PrivacyStatement answers = deployment.mechanism->Statement(
      accounting::FixedNats::RoundDown(deployment.config.options.epsilon));
  if (!deployment.public_training.has_value()) return answers.Lines();
  return LinesAbovePublicTraining(answers,
                                  TrainingOf(*deployment.public_training, deployment.manifest));
}

std::string StatementText(const Deployment& deployment) {
  std::string text;
  for (const std::string& line : StatementLines(deployment)) text += line + "\n";
  return text;
}

}  // namespace submix::engine
