#include "submix/apps/training/adapter_contexts.h"

#include <algorithm>
#include <set>

#include "submix/base/file_system.h"
#include "submix/corpus/partition.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/external_ensemble.h"
#include "submix/ensemble/predictor_checks.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/ensemble/preparation/user_list.h"

namespace submix::apps {

using base::StatusOr;

StatusOr<ensemble::Manifest> LoadTrainedEnsemble(const std::string& ensemble_directory) {
  SUBMIX_ASSIGN_OR_RETURN(auto manifest, ensemble::LoadManifest(ensemble_directory));
  SUBMIX_RETURN_IF_ERROR(ensemble::CheckHasModels(manifest, ensemble_directory));
  const auto refused = [&](const std::string& why) {
    return base::FailedPreconditionError(ensemble_directory + ": " + why);
  };
  if (manifest.hyper_parameters.contains("private")) {
    return refused(
        "trained with differential privacy, which bounds what all answers may know of a user; "
        "members that read its users' records would know more; take an ensemble of adapters");
  }
  if (!std::ranges::all_of(manifest.members, &ensemble::MemberEntry::complete)) {
    return refused("not trained yet; run the same `submix train` again to finish");
  }
  SUBMIX_RETURN_IF_ERROR(ensemble::VerifyFiles(manifest, ensemble_directory));
  for (const ensemble::MemberEntry& member : manifest.members) {
    if (!ensemble::IsAdapterDirectory(ensemble::MemberPath(ensemble_directory, member))) {
      return refused(member.directory +
                     " is a whole model; only adapters read records: `submix train` without "
                     "--full trains them");
    }
  }
  return manifest;
}

StatusOr<std::int64_t> KeepTrainedUsers(const std::string& ensemble_directory,
                                        const ensemble::Manifest& manifest,
                                        const base::HashKey& key,
                                        contexts::PartitionedRecords& records) {
  SUBMIX_ASSIGN_OR_RETURN(const auto listed,
                          ensemble::UsersOnList(ensemble_directory, records.readers));
  if (!listed.has_value()) {
    return base::FailedPreconditionError(
        ensemble_directory +
        ": keeps no list of its users, so that nobody knows whose text its adapters know; train it "
        "again with this version");
  }
  std::set<std::string> kept;
  for (const std::string& user : *listed) kept.insert(corpus::ForgottenMark(key, user));
  for (const std::string& forgotten : manifest.forgotten) kept.erase(forgotten);
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

StatusOr<ensemble::Manifest> CopyAdapters(const std::string& ensemble_directory,
                                          const ensemble::Manifest& manifest,
                                          const std::string& new_directory) {
  ensemble::Manifest copied =
      ensemble::NewManifest({manifest.num_parts, manifest.halves, manifest.heldout_fraction},
                            manifest.partition_key_id, manifest.hyper_parameters);
  copied.users = manifest.users;
  copied.forgotten = manifest.forgotten;
  SUBMIX_RETURN_IF_ERROR(ensemble::CopyFiles(ensemble::UserListPath(ensemble_directory),
                                             ensemble::UserListPath(new_directory)));
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(base::JoinPath(new_directory, "members")));
  for (std::size_t m = 0; m < copied.members.size(); ++m) {
    const ensemble::MemberEntry& from = manifest.members[m];
    ensemble::MemberEntry& to = copied.members[m];
    SUBMIX_RETURN_IF_ERROR(ensemble::CopyFiles(ensemble::MemberPath(ensemble_directory, from),
                                               ensemble::MemberPath(new_directory, to)));
    to.steps = from.steps;
    to.recipe_sha256 = from.recipe_sha256;
  }
  return copied;
}

}  // namespace submix::apps
