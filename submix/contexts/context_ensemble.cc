#include "submix/contexts/context_ensemble.h"

#include <algorithm>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/corpus/partition.h"
#include "submix/ensemble/ensemble_directory.h"

namespace submix::contexts {

using base::Status;
using base::StatusOr;

Status SaveContextEnsemble(const std::vector<std::vector<ContextRecord>>& members,
                           ensemble::Manifest manifest, const std::string& ensemble_directory) {
  SUBMIX_CHECK(members.size() == manifest.members.size(), "the manifest's members");
  SUBMIX_CHECK(manifest.contexts.has_value(), "members by context");
  for (std::size_t m = 0; m < members.size(); ++m) {
    ensemble::MemberEntry& entry = manifest.members[m];
    if (!manifest.contexts->has_adapters) entry.steps = std::ssize(members[m]);
    entry.complete = true;
    SUBMIX_RETURN_IF_ERROR(
        SaveRecords(members[m], ensemble::MemberPath(ensemble_directory, entry)));
  }
  SUBMIX_RETURN_IF_ERROR(ensemble::HashFiles(manifest, ensemble_directory));
  return ensemble::SaveManifest(manifest, ensemble_directory);
}

StatusOr<MemberContexts> LoadContexts(const ensemble::Manifest& manifest,
                                      const std::string& ensemble_directory,
                                      const tokenizer::Tokenizer& tokenizer) {
  SUBMIX_CHECK(manifest.contexts.has_value(), "members by context");
  std::vector<std::vector<Tokens>> members;
  for (const ensemble::MemberEntry& entry : manifest.members) {
    SUBMIX_ASSIGN_OR_RETURN(const auto records,
                            LoadRecords(ensemble::MemberPath(ensemble_directory, entry)));
    std::vector<Tokens>& own = members.emplace_back();
    for (const ContextRecord& record : records) own.push_back(tokenizer.Encode(record.text));
  }
  return MemberContexts(*manifest.contexts, {tokenizer.end_of_text(), tokenizer.prefix()},
                        std::move(members));
}

StatusOr<ensemble::ForgetResult> ForgetRecords(const std::string& ensemble_directory,
                                               const std::string& user) {
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, ensemble::LockEnsemble(ensemble_directory));
  SUBMIX_ASSIGN_OR_RETURN(ensemble::Manifest manifest, ensemble::LoadManifest(ensemble_directory));
  SUBMIX_CHECK(manifest.contexts.has_value() && !manifest.contexts->has_adapters,
               "members that only read");
  SUBMIX_ASSIGN_OR_RETURN(const auto key,
                          corpus::LoadPartitionKey(ensemble::PartitionKeyPath(ensemble_directory)));
  const corpus::Placement place = corpus::PlaceUser(
      key, user, {manifest.num_parts, manifest.halves, manifest.heldout_fraction});
  if (place.is_heldout) return ensemble::ForgetResult{"", manifest.generation, false};
  const auto index = static_cast<std::size_t>(place.part.index * manifest.halves + place.half);
  ensemble::MemberEntry& member = manifest.members[index];
  const std::string mark = corpus::ForgottenMark(key, user);
  if (std::ranges::find(manifest.forgotten, mark) != manifest.forgotten.end()) {
    return ensemble::ForgetResult{member.directory, manifest.generation, member.is_public_model()};
  }

  const std::string old_path = ensemble::MemberPath(ensemble_directory, member);
  ensemble::BeginGeneration(index, manifest);
  const std::string new_path = ensemble::MemberPath(ensemble_directory, member);
  SUBMIX_ASSIGN_OR_RETURN(const auto remaining, RecordsWithoutUser(mark, old_path, new_path));
  if (!remaining.had_user) {
    return base::NotFoundError(ensemble_directory +
                               ": no member reads a record of this user; check the key");
  }
  member.steps = std::ssize(remaining.records);
  SUBMIX_RETURN_IF_ERROR(SaveRecords(remaining.records, new_path));
  manifest.forgotten.push_back(mark);
  if (manifest.users.has_value()) --*manifest.users;
  // The old records go before the new manifest stands, so that there is never one beside them.
  SUBMIX_RETURN_IF_ERROR(base::RemoveAll(old_path));
  SUBMIX_RETURN_IF_ERROR(ensemble::HashFiles(manifest, ensemble_directory));
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveManifest(manifest, ensemble_directory));
  return ensemble::ForgetResult{member.directory, manifest.generation, member.is_public_model()};
}

}  // namespace submix::contexts
