#include "submix/train/fine_tuning/forgetting.h"

#include <algorithm>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/corpus/partition.h"
#include "submix/corpus/user_tokens.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/tokenizer/tokenizer.h"
#include "submix/train/fine_tuning/fine_tune.h"
#include "submix/train/recipes/member_recipe.h"

namespace submix::train {
namespace {

using base::Status;
using base::StatusOr;

Status CheckUserExists(const corpus::CorpusFile& corpus, const std::string& user) {
  SUBMIX_ASSIGN_OR_RETURN(const bool found, corpus::HasUser(corpus, user));
  if (found) return base::OkStatus();
  return base::NotFoundError(corpus.path +
                             ": no record of this user; check the key, and give the "
                             "corpus that the ensemble was trained on");
}

// The text of one half without the user and without those forgotten before.
StatusOr<std::vector<corpus::UserTokens>> RemainingText(const std::string& ensemble_directory,
                                                        const corpus::CorpusFile& corpus,
                                                        const ensemble::Manifest& manifest,
                                                        const base::HashKey& key,
                                                        std::size_t member,
                                                        const std::string& user) {
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer, tokenizer::Tokenizer::Load(
                                                    ensemble::PublicDirectory(ensemble_directory)));
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t tokens_per_user,
                          TokensPerUserFrom(manifest.hyper_parameters));
  SUBMIX_ASSIGN_OR_RETURN(const corpus::Loss loss, ensemble::LossFrom(manifest.hyper_parameters));
  const corpus::RecordEncoder encoder(*tokenizer, ensemble::PublicDirectory(ensemble_directory),
                                      loss);
  SUBMIX_ASSIGN_OR_RETURN(
      auto partitioned,
      corpus::PartitionCorpus(corpus, encoder, key,
                              {manifest.num_parts, manifest.halves, manifest.heldout_fraction},
                              tokens_per_user));
  RemoveForgotten(manifest, key, partitioned);
  auto& users = partitioned.members[member];
  std::erase_if(users, [&](const corpus::UserTokens& tokens) { return tokens.user == user; });
  return std::move(users);
}

// Marks what is pending as this user's. What an interrupted call for another user left was trained
// on this one's text, and may already stand in the member's place: only that call can end it.
Status BeginPending(const std::string& pending, const ensemble::Manifest& manifest,
                    const std::string& mark) {
  const std::string path = base::JoinPath(pending, "user");
  if (base::FileExists(path)) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string begun, base::ReadFile(path));
    const bool is_over = std::ranges::find(manifest.forgotten, begun) != manifest.forgotten.end();
    if (begun != mark && !is_over) {
      return base::FailedPreconditionError(
          pending + ": the forgetting of another user was interrupted; forget that user first");
    }
    if (is_over) SUBMIX_RETURN_IF_ERROR(base::RemoveAll(pending));
  }
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(pending));
  return base::WriteFile(path, mark);
}

}  // namespace

StatusOr<ensemble::ForgetResult> ForgetUser(const std::string& ensemble_directory,
                                            const corpus::CorpusFile& corpus,
                                            const std::string& user, base::ProgressStyle progress,
                                            const MoveRecords& move_records) {
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, ensemble::LockEnsemble(ensemble_directory));
  SUBMIX_ASSIGN_OR_RETURN(ensemble::Manifest manifest, ensemble::LoadManifest(ensemble_directory));
  SUBMIX_CHECK(manifest.contexts.has_value() == (move_records != nullptr), "records to move");
  if (manifest.hyper_parameters.contains("private")) {
    return base::FailedPreconditionError(
        ensemble_directory +
        ": trained with differential privacy: what it may know of a user is bounded by its "
        "statement, and cannot be taken out; a training without the user would add its own cost "
        "for all others");
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto key,
                          corpus::LoadPartitionKey(ensemble::PartitionKeyPath(ensemble_directory)));
  const corpus::Placement place = corpus::PlaceUser(
      key, user, {manifest.num_parts, manifest.halves, manifest.heldout_fraction});
  const auto index = static_cast<std::size_t>(place.part.index * manifest.halves + place.half);
  const std::string mark = corpus::ForgottenMark(key, user);
  if (std::ranges::find(manifest.forgotten, mark) != manifest.forgotten.end()) {
    const ensemble::MemberEntry& member = manifest.members[index];
    return ensemble::ForgetResult{member.directory, manifest.generation, member.is_public_model()};
  }
  SUBMIX_RETURN_IF_ERROR(CheckUserExists(corpus, user));
  if (place.is_heldout) return ensemble::ForgetResult{"", manifest.generation, false};

  SUBMIX_ASSIGN_OR_RETURN(const FineTuneOptions options,
                          FineTuneOptionsFrom(manifest.hyper_parameters));
  SUBMIX_ASSIGN_OR_RETURN(const auto users,
                          RemainingText(ensemble_directory, corpus, manifest, key, index, user));
  ensemble::MemberEntry& member = manifest.members[index];
  const std::string old_path = ensemble::MemberPath(ensemble_directory, member);
  ensemble::BeginGeneration(index, manifest);
  // Trained beside members/, so that the ensemble can be served meanwhile.
  const std::string new_path = ensemble::MemberPath(ensemble_directory, member);
  const std::string pending = base::JoinPath(ensemble_directory, "pending");
  SUBMIX_RETURN_IF_ERROR(BeginPending(pending, manifest, mark));
  const MemberTask task = MakeMemberTask(
      base::JoinPath(pending, "g" + std::to_string(manifest.generation)), index, users, options);
  SUBMIX_ASSIGN_OR_RETURN(const std::string public_sha256,
                          PublicModelSha256(ensemble::PublicDirectory(ensemble_directory)));
  member.recipe_sha256 = RecipeDigest(task, manifest, public_sha256);
  member.steps = PlannedSteps(task, options);
  if (!base::FileExists(new_path)) {
    SUBMIX_RETURN_IF_ERROR(FineTuneMembers(ensemble::PublicDirectory(ensemble_directory),
                                           std::span(&task, 1), options, progress,
                                           {.all_tasks = manifest.members.size()}));
    if (move_records) {
      SUBMIX_RETURN_IF_ERROR(move_records(mark, old_path, task.output_directory));
    }
  }
  // The old member goes before the new manifest stands: a crash in between leaves an ensemble that
  // does not open until this call is repeated, never a manifest beside the forgotten adapter.
  SUBMIX_RETURN_IF_ERROR(base::RemoveAll(old_path));
  if (!base::FileExists(new_path)) {
    SUBMIX_RETURN_IF_ERROR(base::Rename(task.output_directory, new_path));
  }
  manifest.forgotten.push_back(mark);
  if (manifest.users.has_value()) --*manifest.users;
  SUBMIX_RETURN_IF_ERROR(ensemble::HashFiles(manifest, ensemble_directory));
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveManifest(manifest, ensemble_directory));
  SUBMIX_RETURN_IF_ERROR(base::RemoveAll(pending));
  return ensemble::ForgetResult{member.directory, manifest.generation, member.is_public_model()};
}

}  // namespace submix::train
