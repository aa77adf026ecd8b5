#include "submix/train/recipes/ensemble_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "submix/corpus/user_tokens.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/opened_ensemble.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/ensemble/preparation/user_list.h"
#include "submix/ensemble/training_cost.h"
#include "submix/model/decoder_config.h"
#include "submix/model/decoder_tensors.h"

namespace submix::train {
namespace {

using base::Status;
using base::StatusOr;

// What can be refused before anything is written. Errors: kInvalidArgument; those of reading.
Status CheckPublicModel(const EnsembleTrainingOptions& options) {
  SUBMIX_RETURN_IF_ERROR(model::CheckWeights(options.public_directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(options.public_directory));
  SUBMIX_RETURN_IF_ERROR(CheckFineTuneOptions(options.fine_tune, config));
  SUBMIX_ASSIGN_OR_RETURN(const auto cost, ensemble::LoadTrainingCost(options.public_directory));
  if (!options.public_trained_on_others || cost.has_value()) return base::OkStatus();
  return base::InvalidArgumentError(options.public_directory +
                                    ": no private_training.json: this model was not trained "
                                    "privately, whoever its text was of");
}

std::map<std::string, std::string> PublicOptions(const EnsembleTrainingOptions& options) {
  std::map<std::string, std::string> parameters = HyperParameters(options.fine_tune);
  AddTokensPerUser(options.tokens_per_user, parameters);
  ensemble::AddLoss(options.loss, parameters);
  if (options.public_trained_on_others) {
    parameters[ensemble::kPublicTrainedOn] = ensemble::kOtherUsers;
  }
  if (!options.trainer.empty()) parameters["trainer"] = options.trainer;
  return parameters;
}

Status CheckSameEnsemble(const ensemble::Manifest& found, const ensemble::Manifest& wanted,
                         const std::string& directory) {
  if (ensemble::HasSameOptions(found, wanted)) return base::OkStatus();
  return base::FailedPreconditionError(
      directory +
      ": holds an ensemble of other options; give a new directory, "
      "or the options that it was begun with");
}

// The manifest's members as tasks, with their recipes put into it. Errors: kFailedPrecondition if a
// member was begun, or finished, by another recipe.
StatusOr<std::vector<MemberTask>> PlanMembers(
    const EnsembleTrainingOptions& options,
    const std::vector<std::vector<corpus::UserTokens>>& users, ensemble::Manifest& manifest) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string public_sha256,
                          PublicModelSha256(options.public_directory));
  std::vector<MemberTask> tasks;
  for (std::size_t m = 0; m < manifest.members.size(); ++m) {
    ensemble::MemberEntry& member = manifest.members[m];
    tasks.push_back(MakeMemberTask(ensemble::MemberPath(options.ensemble_directory, member), m,
                                   users[m], options.fine_tune));
    const std::string recipe = RecipeDigest(tasks.back(), manifest, public_sha256);
    if (!member.recipe_sha256.empty() && member.recipe_sha256 != recipe) {
      return base::FailedPreconditionError(
          options.ensemble_directory +
          ": begun with another corpus or public model; give a new directory");
    }
    member.recipe_sha256 = recipe;
    member.steps = PlannedSteps(tasks.back(), options.fine_tune);
  }
  return tasks;
}

// Copies the members whose recipe a complete member of another ensemble had.
Status ReuseMembers(const std::string& reuse_directory, const std::string& ensemble_directory,
                    const ensemble::Manifest& manifest) {
  if (reuse_directory.empty()) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(const auto other, ensemble::OpenedEnsemble::Open(reuse_directory));
  SUBMIX_RETURN_IF_ERROR(other.CheckHasModels());
  for (const ensemble::MemberEntry& wanted : manifest.members) {
    const std::string target = ensemble::MemberPath(ensemble_directory, wanted);
    if (base::FileExists(target)) continue;
    for (const ensemble::MemberEntry& member : other.manifest().members) {
      if (!member.complete || member.recipe_sha256 != wanted.recipe_sha256) continue;
      const std::string unfinished = target + ".partial";
      SUBMIX_RETURN_IF_ERROR(base::RemoveAll(unfinished));
      SUBMIX_RETURN_IF_ERROR(
          ensemble::CopyFiles(ensemble::MemberPath(reuse_directory, member), unfinished));
      SUBMIX_RETURN_IF_ERROR(base::Rename(unfinished, target));
      break;
    }
  }
  return base::OkStatus();
}

// The manifest of these options: a new one, or that of the interrupted run.
StatusOr<ensemble::Manifest> BeginManifest(const EnsembleTrainingOptions& options,
                                           const base::HashKey& key) {
  const std::string& directory = options.ensemble_directory;
  ensemble::Manifest manifest =
      ensemble::NewManifest(options.partition, corpus::PartitionKeyId(key), PublicOptions(options));
  if (!base::FileExists(ensemble::ManifestPath(directory))) return manifest;
  SUBMIX_ASSIGN_OR_RETURN(ensemble::Manifest found, ensemble::LoadManifest(directory));
  SUBMIX_RETURN_IF_ERROR(CheckSameEnsemble(found, manifest, directory));
  return found;
}

}  // namespace

EnsemblePlan::EnsemblePlan(std::string directory, std::unique_ptr<base::FileLock> lock,
                           ensemble::Manifest manifest, std::vector<MemberTask> tasks)
    : directory_(std::move(directory)),
      lock_(std::move(lock)),
      manifest_(std::move(manifest)),
      tasks_(std::move(tasks)) {}

StatusOr<EnsemblePlan> EnsemblePlan::Begin(const EnsembleTrainingOptions& options) {
  const std::string& directory = options.ensemble_directory;
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer,
                          ensemble::LoadFittingTokenizer(options.public_directory));
  SUBMIX_RETURN_IF_ERROR(CheckPublicModel(options));
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(base::JoinPath(directory, "members")));
  SUBMIX_RETURN_IF_ERROR(base::MakePrivate(directory));
  SUBMIX_ASSIGN_OR_RETURN(auto lock, ensemble::LockEnsemble(directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto key,
                          ensemble::PreparePartitionKey(directory, options.partition_key_path));
  SUBMIX_ASSIGN_OR_RETURN(ensemble::Manifest manifest, BeginManifest(options, key));
  SUBMIX_ASSIGN_OR_RETURN(
      auto corpus,
      corpus::PartitionCorpus(
          options.corpus, corpus::RecordEncoder(*tokenizer, options.public_directory, options.loss),
          key, options.partition, options.tokens_per_user));
  RemoveForgotten(manifest, key, corpus);
  manifest.users = 0;
  for (const auto& member : corpus.members) *manifest.users += std::ssize(member);
  SUBMIX_ASSIGN_OR_RETURN(auto tasks, PlanMembers(options, corpus.members, manifest));
  EnsemblePlan plan(directory, std::move(lock), std::move(manifest), std::move(tasks));
  if (plan.is_complete()) return plan;
  SUBMIX_RETURN_IF_ERROR(
      ensemble::CopyPublicModel(options.public_directory, plan.public_directory()));
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveUserList(directory, key, corpus.members));
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveManifest(plan.manifest_, directory));
  SUBMIX_RETURN_IF_ERROR(ReuseMembers(options.reuse_directory, directory, plan.manifest_));
  return plan;
}

std::string EnsemblePlan::public_directory() const { return ensemble::PublicDirectory(directory_); }

bool EnsemblePlan::is_complete() const {
  return std::ranges::all_of(manifest_.members, &ensemble::MemberEntry::complete);
}

Status EnsemblePlan::Finish() {
  for (const ensemble::MemberEntry& member : manifest_.members) {
    if (!base::FileExists(ensemble::MemberPath(directory_, member))) {
      return base::FailedPreconditionError(ensemble::MemberPath(directory_, member) +
                                           ": this member is not trained yet");
    }
  }
  for (ensemble::MemberEntry& member : manifest_.members) member.complete = true;
  SUBMIX_RETURN_IF_ERROR(ensemble::HashFiles(manifest_, directory_));
  return ensemble::SaveManifest(manifest_, directory_);
}

}  // namespace submix::train
