#include "submix/workbench/ensembles/made_contexts.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "submix/contexts/context_ensemble.h"
#include "submix/ensemble/batches.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/predictor_checks.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/ensemble/preparation/user_list.h"
#include "submix/ensemble/training_cost.h"
#include "submix/model/decoder_config.h"
#include "submix/model/decoder_tensors.h"

namespace submix::workbench {
namespace {

using base::Status;
using base::StatusOr;
using ensemble::OpenedEnsemble;

// --- What is taken over from a trained ensemble

Status CheckCanRead(const OpenedEnsemble& trained) {
  SUBMIX_RETURN_IF_ERROR(trained.CheckHasModels());
  const ensemble::Manifest& manifest = trained.manifest();
  const auto refused = [&](const std::string& why) {
    return base::FailedPreconditionError(trained.directory() + ": " + why);
  };
  if (manifest.hyper_parameters.contains("private")) {
    return refused(
        "trained with differential privacy, which bounds what all answers may know of a user; "
        "members that read its users' records would know more; take an ensemble of adapters");
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto members, trained.MemberDirectories());
  SUBMIX_RETURN_IF_ERROR(trained.VerifyFiles());
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (!ensemble::IsAdapterDirectory(members[m])) {
      return refused(manifest.members[m].directory +
                     " is a whole model; only adapters read records: `submix train` without "
                     "--full trains them");
    }
  }
  return base::OkStatus();
}

// Leaves the records of the users whom the adapters were trained on and have not forgotten, so that
// forgetting has one corpus for both. Returns how many users are left out. Errors:
// kFailedPrecondition if the ensemble has no list of its users.
StatusOr<std::int64_t> KeepTrainedUsers(const OpenedEnsemble& trained, const base::HashKey& key,
                                        contexts::PartitionedRecords& records) {
  SUBMIX_ASSIGN_OR_RETURN(const auto listed,
                          ensemble::UsersOnList(trained.directory(), records.readers));
  if (!listed.has_value()) {
    return base::FailedPreconditionError(
        trained.directory() +
        ": keeps no list of its users, so that nobody knows whose text its adapters know; train it "
        "again with this version");
  }
  std::set<std::string> kept;
  for (const std::string& user : *listed) kept.insert(corpus::ForgottenMark(key, user));
  for (const std::string& forgotten : trained.manifest().forgotten) kept.erase(forgotten);
  for (auto& member : records.members) {
    std::erase_if(
        member, [&](const contexts::ContextRecord& record) { return !kept.contains(record.user); });
  }
  const std::int64_t all = std::ssize(records.readers);
  std::erase_if(records.readers, [&](const std::string& user) {
    return !kept.contains(corpus::ForgottenMark(key, user));
  });
  return all - std::ssize(records.readers);
}

// Copies the adapters and the list of users into a new ensemble, whose manifest it returns, the
// first of its own generations. Errors: those of CopyFiles.
StatusOr<ensemble::Manifest> CopyAdapters(const OpenedEnsemble& trained,
                                          const std::string& new_directory) {
  const ensemble::Manifest& manifest = trained.manifest();
  ensemble::Manifest copied =
      ensemble::NewManifest({manifest.num_parts, manifest.halves, manifest.heldout_fraction},
                            manifest.partition_key_id, manifest.hyper_parameters);
  copied.users = manifest.users;
  copied.forgotten = manifest.forgotten;
  SUBMIX_RETURN_IF_ERROR(ensemble::CopyFiles(ensemble::UserListPath(trained.directory()),
                                             ensemble::UserListPath(new_directory)));
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(base::JoinPath(new_directory, "members")));
  for (std::size_t m = 0; m < copied.members.size(); ++m) {
    const ensemble::MemberEntry& from = manifest.members[m];
    ensemble::MemberEntry& to = copied.members[m];
    SUBMIX_RETURN_IF_ERROR(ensemble::CopyFiles(ensemble::MemberPath(trained.directory(), from),
                                               ensemble::MemberPath(new_directory, to)));
    to.steps = from.steps;
    to.recipe_sha256 = from.recipe_sha256;
  }
  return copied;
}

// --- What is made

std::vector<corpus::UserTokens> WithoutTokens(const std::vector<std::string>& users) {
  std::vector<corpus::UserTokens> listed;
  for (const std::string& user : users) listed.push_back({user, {}});
  return listed;
}

// A new ensemble without records, nor contexts in its manifest.
StatusOr<ensemble::Manifest> Prepare(const corpus::PartitionOptions& partition,
                                     const base::HashKey& key,
                                     const std::vector<std::string>& readers,
                                     const std::string& directory) {
  const std::vector<corpus::UserTokens> users = WithoutTokens(readers);
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveUserList(directory, key, std::span(&users, 1)));
  ensemble::Manifest manifest =
      ensemble::NewManifest(partition, corpus::PartitionKeyId(key), {{"method", "contexts"}});
  manifest.users = std::ssize(users);
  return manifest;
}

// One ensemble, of all users or of a batch of them.
Status Build(const ContextsRequest& request, const std::optional<OpenedEnsemble>& trained,
             const base::HashKey& key, const contexts::PartitionedRecords& records,
             const std::string& directory) {
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(directory));
  SUBMIX_RETURN_IF_ERROR(base::MakePrivate(directory));
  SUBMIX_RETURN_IF_ERROR(corpus::SavePartitionKey(key, ensemble::PartitionKeyPath(directory)));
  SUBMIX_RETURN_IF_ERROR(
      ensemble::CopyPublicModel(request.public_directory, ensemble::PublicDirectory(directory)));
  SUBMIX_ASSIGN_OR_RETURN(ensemble::Manifest manifest,
                          trained ? CopyAdapters(*trained, directory)
                                  : Prepare(request.partition, key, records.readers, directory));
  manifest.contexts = request.contexts;
  return contexts::SaveContextEnsemble(records.members, std::move(manifest), directory);
}

}  // namespace

StatusOr<ContextsPlan> ContextsPlan::Create(ContextsRequest request) {
  ContextsPlan plan(std::move(request));
  if (!plan.request_.adapters.empty()) SUBMIX_RETURN_IF_ERROR(plan.TakeOverAdapters());
  SUBMIX_RETURN_IF_ERROR(plan.CheckPublicModel());
  const std::string& directory = plan.request_.ensemble;
  if (const auto names = base::ListDirectory(directory); names.ok() && !names->empty()) {
    return base::AlreadyExistsError(directory +
                                    ": not empty; give a new directory for the ensemble");
  }
  return plan;
}

Status ContextsPlan::TakeOverAdapters() {
  const std::string& directory = request_.adapters;
  // What is no ensemble is left without a lock, too.
  SUBMIX_RETURN_IF_ERROR(OpenedEnsemble::Open(directory).status());
  SUBMIX_ASSIGN_OR_RETURN(lock_, ensemble::LockEnsemble(directory));
  SUBMIX_ASSIGN_OR_RETURN(trained_, OpenedEnsemble::Open(directory));
  SUBMIX_RETURN_IF_ERROR(CheckCanRead(*trained_));
  const ensemble::Manifest& manifest = trained_->manifest();
  request_.public_directory = trained_->public_directory();
  request_.partition = {manifest.num_parts, manifest.halves, manifest.heldout_fraction};
  request_.partition_key = ensemble::PartitionKeyPath(directory);
  request_.contexts.has_adapters = true;
  return base::OkStatus();
}

Status ContextsPlan::CheckPublicModel() const {
  const std::string& directory = request_.public_directory;
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer, ensemble::LoadFittingTokenizer(directory));
  SUBMIX_RETURN_IF_ERROR(model::CheckWeights(directory));
  SUBMIX_RETURN_IF_ERROR(ensemble::LoadTrainingCost(directory).status());
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(directory));
  const int tokens = request_.contexts.tokens;
  if (tokens >= ensemble::Contexts::kLeastTokens && tokens <= config.context_length / 2) {
    SUBMIX_RETURN_IF_ERROR(contexts::FrameOf(request_.contexts, *tokenizer).status());
    return contexts::CheckRecords(request_.corpus, request_.contexts,
                                  corpus::RecordEncoder(*tokenizer, directory, corpus::Loss::kAll));
  }
  return base::InvalidArgumentError(
      "--context-tokens: expected " + std::to_string(ensemble::Contexts::kLeastTokens) + " to " +
      std::to_string(config.context_length / 2) + ", half of what " + directory +
      " holds, so that queries have room, found " + std::to_string(tokens));
}

StatusOr<std::int64_t> ContextsPlan::BuildAll(const std::string& directory) const {
  base::HashKey key = corpus::NewPartitionKey();
  if (!request_.partition_key.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(key, corpus::LoadPartitionKey(request_.partition_key));
  }
  SUBMIX_RETURN_IF_ERROR(base::RemoveAll(directory));
  SUBMIX_ASSIGN_OR_RETURN(
      auto batches, contexts::PartitionRecords(request_.corpus, key, request_.partition,
                                               request_.batches, request_.contexts.public_keys));
  std::int64_t left_out = 0;
  if (trained_) {
    SUBMIX_ASSIGN_OR_RETURN(left_out, KeepTrainedUsers(*trained_, key, batches.front()));
  }
  for (int batch = 0; batch < request_.batches; ++batch) {
    const std::string place = request_.batches == 1
                                  ? directory
                                  : ensemble::BatchDirectory(directory, batch, request_.batches);
    SUBMIX_RETURN_IF_ERROR(
        Build(request_, trained_, key, batches[static_cast<std::size_t>(batch)], place));
  }
  return left_out;
}

StatusOr<ContextsPlan::Made> ContextsPlan::Make() const {
  const std::string place = base::CanonicalPath(request_.ensemble);
  const std::string unfinished = place + ".unfinished";
  const auto left_out = BuildAll(unfinished);
  const Status made = left_out.ok() ? base::Rename(unfinished, place) : left_out.status();
  if (!made.ok()) {
    (void)base::RemoveAll(unfinished);
    return made;
  }
  std::vector<std::string> directories = {request_.ensemble};
  if (request_.batches > 1) {
    SUBMIX_ASSIGN_OR_RETURN(directories, ensemble::BatchesIn(request_.ensemble));
  }
  Made result = {{}, *left_out};
  for (const std::string& directory : directories) {
    SUBMIX_ASSIGN_OR_RETURN(result.ensembles.emplace_back(), OpenedEnsemble::Open(directory));
  }
  return result;
}

}  // namespace submix::workbench
