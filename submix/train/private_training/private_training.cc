#include "submix/train/private_training/private_training.h"

#include <cmath>
#include <cstdlib>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/corpus/user_tokens.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/manifest.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/ensemble/preparation/user_list.h"
#include "submix/ensemble/training_cost.h"
#include "submix/model/decoder_config.h"
#include "submix/model/decoder_tensors.h"
#include "submix/train/fine_tuning/released_model.h"
#include "submix/train/recipes/member_recipe.h"
#include "submix/train/recipes/training_options_table.h"

namespace submix::train {
namespace {

using accounting::PrivacyUnit;
using base::Status;
using base::StatusOr;

constexpr double kShareOfUnits = 0.125;  // in a step's batch, where nobody says

// Hyper-parameters that are known only when the training is done.
constexpr const char* kChargedField = "steps_charged";
constexpr const char* kEpsilonField = "epsilon";

std::string UnitName(PrivacyUnit unit) {
  return unit == PrivacyUnit::kUserKey ? "user" : "document";
}

// What the manifest keeps: all of it public.
std::map<std::string, std::string> HyperParameters(const PrivateTrainingOptions& options,
                                                   const accounting::StepBudget& budget,
                                                   std::int64_t public_units) {
  const DpSgdOptions& training = options.training;
  std::map<std::string, std::string> parameters = {
      {"private", "dp-sgd"},
      {"unit", UnitName(options.unit)},
      {"public_units", std::to_string(public_units)},
      {"units_were_counted", options.public_units == 0 ? "yes" : "no"},
      {"sampling_probability", ParameterText(budget.step().sampling_probability)},
      {"noise_multiplier", ParameterText(budget.step().noise_multiplier)},
      {"clip_norm", ParameterText(training.clip_norm)},
      {"expected_batch", ParameterText(training.expected_batch)},
      {"target_epsilon", ParameterText(options.target.epsilon)},
      {"delta", ParameterText(options.target.delta)},
      {"steps_wanted", std::to_string(training.steps)},
      {"precision", PrecisionName(training.precision)}};
  AddNumbers(training, parameters);
  AddMethod(training.lora, parameters);
  AddTokensPerUser(options.tokens_per_user, parameters);
  ensemble::AddLoss(options.loss, parameters);
  return parameters;
}

Status CheckSameTraining(ensemble::Manifest found, const ensemble::Manifest& wanted,
                         const std::string& directory) {
  found.hyper_parameters.erase(kChargedField);
  found.hyper_parameters.erase(kEpsilonField);
  if (ensemble::HasSameOptions(found, wanted)) return base::OkStatus();
  return base::FailedPreconditionError(
      directory +
      ": holds an ensemble of other options or another number of users; give a new directory, or "
      "what it was begun with");
}

// One unit a user, or one a text.
std::vector<corpus::UserTokens> Units(std::vector<corpus::UserTokens> users, PrivacyUnit unit) {
  return unit == PrivacyUnit::kUserKey ? users : corpus::CutIntoTexts(users);
}

std::vector<TrainingUnit> Blocks(const std::vector<corpus::UserTokens>& units, int block_tokens) {
  std::vector<TrainingUnit> blocks;
  for (const corpus::UserTokens& unit : units) {
    blocks.push_back(corpus::CutIntoBlocks({unit}, block_tokens));
  }
  return blocks;
}

// What all runs of one training have in common.
struct Plan {
  accounting::StepBudget budget;
  std::int64_t public_units;
  PrivateTrainingOptions options;  // with training.steps
};

StatusOr<Plan> MakePlan(PrivateTrainingOptions options, std::int64_t counted_units) {
  const std::int64_t units = options.public_units > 0 ? options.public_units : counted_units;
  if (options.training.expected_batch == 0) {
    options.training.expected_batch = kShareOfUnits * static_cast<double>(units);
  }
  const double probability = options.training.expected_batch / static_cast<double>(units);
  if (!(probability > 0 && probability <= 1)) {
    return base::InvalidArgumentError(
        "expected batch: expected more than 0, at most the number of " + UnitName(options.unit) +
        "s, " + std::to_string(units) + "; found " +
        ParameterText(options.training.expected_batch));
  }
  if (options.training.steps == 0) {
    if (!(options.epochs > 0 && options.epochs / probability < 0x1p53)) {
      return base::InvalidArgumentError("epochs: expected more than 0");
    }
    options.training.steps = static_cast<std::int64_t>(std::ceil(options.epochs / probability));
  }
  if (options.noise_multiplier == 0) {
    SUBMIX_ASSIGN_OR_RETURN(
        options.noise_multiplier,
        accounting::NoiseForSteps(probability, options.target, options.training.steps));
  }
  SUBMIX_ASSIGN_OR_RETURN(
      accounting::StepBudget budget,
      accounting::StepBudget::Plan({probability, options.noise_multiplier}, options.target));
  return Plan{std::move(budget), units, std::move(options)};
}

PrivateTrainingReport MakeReport(const Plan& plan, std::int64_t steps, std::int64_t charged) {
  return {.statement = plan.budget.Statement(plan.options.unit, charged),
          .epsilon = plan.budget.EpsilonAfter(charged).epsilon,
          .sampling_probability = plan.budget.step().sampling_probability,
          .noise_multiplier = plan.budget.step().noise_multiplier,
          .expected_batch = plan.options.training.expected_batch,
          .public_units = plan.public_units,
          .units_were_counted = plan.options.public_units == 0,
          .steps_wanted = plan.options.training.steps,
          .steps = steps,
          .steps_charged = charged};
}

// Trains the one member, writes what may leave, and closes the manifest.
StatusOr<PrivateTrainingReport> TrainMember(const Plan& plan, ensemble::Manifest manifest,
                                            std::vector<TrainingUnit> units,
                                            base::RandomSource& random,
                                            base::ProgressStyle progress) {
  const std::string& directory = plan.options.ensemble_directory;
  ensemble::MemberEntry& member = manifest.members.front();
  const DpSgdTask task = {ensemble::MemberPath(directory, member),
                          base::JoinPath(directory, "training"), std::move(units)};
  SUBMIX_ASSIGN_OR_RETURN(const DpSgdResult result,
                          TrainDpSgd(ensemble::PublicDirectory(directory), task,
                                     plan.options.training, plan.budget, random, progress));
  const PrivateTrainingReport report = MakeReport(plan, result.steps, result.steps_charged);
  member.steps = result.steps;
  member.complete = true;
  manifest.hyper_parameters[kChargedField] = std::to_string(result.steps_charged);
  manifest.hyper_parameters[kEpsilonField] = ParameterText(report.epsilon);
  const ensemble::TrainingCost cost = {"dp-sgd", plan.options.unit == PrivacyUnit::kUserKey,
                                       report.sampling_probability, report.noise_multiplier,
                                       result.steps_charged};
  SUBMIX_RETURN_IF_ERROR(
      WriteReleasedEnsemble(ensemble::PublicDirectory(directory), task.output_directory, manifest,
                            TrainingCostJson(cost, report.epsilon, plan.budget.target().delta),
                            base::JoinPath(directory, "released")));
  SUBMIX_RETURN_IF_ERROR(ensemble::HashFiles(manifest, directory));
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveManifest(manifest, directory));
  return report;
}

}  // namespace

StatusOr<PrivateTrainingReport> TrainPrivately(const PrivateTrainingOptions& options,
                                               base::RandomSource& random,
                                               base::ProgressStyle progress) {
  const std::string& directory = options.ensemble_directory;
  const corpus::PartitionOptions partition = {1, 1, options.heldout_fraction};
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer,
                          ensemble::LoadFittingTokenizer(options.public_directory));
  SUBMIX_RETURN_IF_ERROR(ensemble::CheckIsPublic(options.public_directory));
  SUBMIX_RETURN_IF_ERROR(model::CheckWeights(options.public_directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(options.public_directory));
  SUBMIX_RETURN_IF_ERROR(CheckTrainingOptions(options.training, config));
  if (options.unit != PrivacyUnit::kUserKey && options.tokens_per_user > 0) {
    return base::InvalidArgumentError(
        "tokens per user: one document decides which others of its user are read; only where "
        "whole users are protected");
  }
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(base::JoinPath(directory, "members")));
  SUBMIX_RETURN_IF_ERROR(base::MakePrivate(directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, ensemble::LockEnsemble(directory));
  SUBMIX_ASSIGN_OR_RETURN(const base::HashKey key,
                          ensemble::PreparePartitionKey(directory, options.partition_key_path));
  SUBMIX_ASSIGN_OR_RETURN(
      corpus::PartitionedCorpus corpus,
      corpus::PartitionCorpus(
          options.corpus, corpus::RecordEncoder(*tokenizer, options.public_directory, options.loss),
          key, partition, options.tokens_per_user));
  const std::vector<corpus::UserTokens> units =
      Units(std::move(corpus.members.front()), options.unit);
  SUBMIX_ASSIGN_OR_RETURN(const Plan plan, MakePlan(options, std::ssize(units)));
  SUBMIX_RETURN_IF_ERROR(CheckDpSgdOptions(plan.options.training, config));
  ensemble::Manifest manifest =
      ensemble::NewManifest(partition, corpus::PartitionKeyId(key),
                            HyperParameters(plan.options, plan.budget, plan.public_units));
  if (base::FileExists(ensemble::ManifestPath(directory))) {
    SUBMIX_ASSIGN_OR_RETURN(ensemble::Manifest found, ensemble::LoadManifest(directory));
    SUBMIX_RETURN_IF_ERROR(CheckSameTraining(found, manifest, directory));
    if (found.members.front().complete) {
      const std::string& charged = found.hyper_parameters[kChargedField];
      return MakeReport(plan, found.members.front().steps,
                        std::strtoll(charged.c_str(), nullptr, 10));
    }
    manifest = std::move(found);
  }
  SUBMIX_RETURN_IF_ERROR(
      ensemble::CopyPublicModel(options.public_directory, ensemble::PublicDirectory(directory)));
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveUserList(directory, key, std::span(&units, 1)));
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveManifest(manifest, directory));
  return TrainMember(plan, std::move(manifest), Blocks(units, plan.options.training.block_tokens),
                     random, progress);
}

}  // namespace submix::train
