#include "submix/engine/deployment_statement.h"

#include "submix/ensemble/ensemble_directory.h"
#include "submix/mechanism/declaring/declared_effect.h"

namespace submix::engine {
namespace {

accounting::PublicCost TrainingOf(const ensemble::TrainingCost& cost,
                                  const ensemble::Manifest& manifest) {
  return {.mechanism = cost.mechanism,
          .step = {cost.sampling_probability, cost.noise_multiplier},
          .steps = cost.steps,
          .unit = cost.unit_is_user ? accounting::PrivacyUnit::kUserKey
                                    : accounting::PrivacyUnit::kTrainingExample,
          .same_users = MayHaveReadItsUsers(manifest),
          .empty_is_absent = cost.empty_is_absent};
}

void SayWhatIsCountedIn(const EarlierBudgets& earlier, accounting::Promise& promise) {
  promise.sentence += " The answers of " + std::to_string(earlier.lineages.size()) +
                      " earlier deployment(s) are counted in.";
  accounting::PromiseRow& row = promise.rows.emplace_back();
  row.label = "earlier answers";
  for (const std::string& column : promise.columns) {
    std::string& cell = row.cells.emplace_back("not counted in");
    if (column != "user") continue;
    cell = "counted in, with up to " + accounting::FormatCost(earlier.most.ToNatsRoundedUp()) +
           " nats of the budget";
  }
}

void SayThatModelsAreOutside(accounting::Promise& promise) {
  promise.sentence +=
      " The models run outside Submix: that holds if they keep what docs/python.md asks of them.";
}

// The mechanism's statement of all answers, and of earlier deployments' that are counted in.
accounting::PrivacyStatement StatementOfAnswers(const Deployment& deployment) {
  const DeploymentOptions& options = deployment.config.options;
  const auto budget = accounting::FixedNats::RoundDown(options.epsilon);
  accounting::PrivacyStatement answers = deployment.mechanism->Statement(budget);
  if (!deployment.config.earlier.lineages.empty()) {
    answers = accounting::WithEarlierAnswers(answers, options.mechanism.order, budget);
  }
  answers.delta = options.delta;
  answers.public_keys = deployment.config.public_keys;
  return answers;
}

}  // namespace

accounting::Promise DeploymentPromise(const Deployment& deployment) {
  const EarlierBudgets& earlier = deployment.config.earlier;
  const accounting::PrivacyStatement answers = StatementOfAnswers(deployment);
  accounting::Promise promise =
      deployment.public_training.has_value()
          ? PromiseAbovePublicTraining(
                answers, TrainingOf(*deployment.public_training, deployment.ensemble.manifest()))
          : PromiseOf(answers);
  if (!earlier.lineages.empty()) SayWhatIsCountedIn(earlier, promise);
  if (deployment.ensemble.manifest().external.has_value()) SayThatModelsAreOutside(promise);
  if (deployment.has_ended) promise.sentence += " It has ended: a later deployment counts it in.";
  return promise;
}

std::optional<UserGuarantee> GuaranteeOfUser(const Deployment& deployment) {
  const accounting::PrivacyStatement answers = StatementOfAnswers(deployment);
  UserGuarantee guarantee;
  guarantee.adjacency =
      answers.public_keys ? accounting::Adjacency::kEmptied : accounting::Adjacency::kReplace;
  std::vector<accounting::RdpBound> bounds;
  const ensemble::Manifest& manifest = deployment.ensemble.manifest();
  if (deployment.public_training && MayHaveReadItsUsers(manifest)) {
    bounds = AddedUserBounds(answers, TrainingOf(*deployment.public_training, manifest));
    if (!answers.public_keys) guarantee.adjacency = accounting::Adjacency::kPresence;
  } else if (const auto user = UserLevelStatement(answers)) {
    bounds = StatedBounds(*user);
  }
  const auto best = BestEpsilon(bounds, answers.delta, accounting::ConversionKind::kImproved);
  if (!best.ok()) return std::nullopt;
  guarantee.bound = {best->epsilon, answers.delta};
  return guarantee;
}

bool MayHaveReadItsUsers(const ensemble::Manifest& manifest) {
  const auto trained_on = manifest.hyper_parameters.find(ensemble::kPublicTrainedOn);
  return trained_on == manifest.hyper_parameters.end() ||
         trained_on->second != ensemble::kOtherUsers;
}

base::StatusOr<std::optional<accounting::PublicCost>> PublicTrainingOf(
    const std::string& public_directory, const ensemble::Manifest& manifest) {
  SUBMIX_ASSIGN_OR_RETURN(const auto cost, ensemble::LoadTrainingCost(public_directory));
  if (!cost) return std::optional<accounting::PublicCost>();
  return std::optional(TrainingOf(*cost, manifest));
}

base::Status DeclareBudget(const std::string& public_directory, const ensemble::Manifest& manifest,
                           const std::vector<std::string>& after, mechanism::AskedBudget asked,
                           const mechanism::MechanismMaker& make, DeploymentOptions& declared) {
  asked.public_keys = manifest.has_public_keys();
  if (!after.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(const DeploymentConfig earlier, LoadDeploymentConfig(after.front()));
    asked.earlier_order = earlier.options.mechanism.order;
  }
  SUBMIX_ASSIGN_OR_RETURN(asked.public_training, PublicTrainingOf(public_directory, manifest));
  SUBMIX_ASSIGN_OR_RETURN(const auto part,
                          mechanism::DeclareUsefulBudget(declared.mechanism, asked, make));
  declared.mechanism = part.mechanism;
  declared.epsilon = part.epsilon;
  return base::OkStatus();
}

}  // namespace submix::engine
