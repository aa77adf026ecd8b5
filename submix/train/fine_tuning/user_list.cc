#include "submix/train/fine_tuning/user_list.h"

#include <set>
#include <sstream>

#include "submix/base/file_system.h"
#include "submix/corpus/partition.h"
#include "submix/ensemble/ensemble_directory.h"

namespace submix::train {
namespace {

std::string UserListPath(const std::string& ensemble_directory) {
  return base::JoinPath(ensemble_directory, "users");
}

// The hash of a user on a list, in decimal.
std::string NameOnList(const base::HashKey& key, const std::string& user) {
  return std::to_string(base::KeyedHash(key, "reader\n" + user));
}

// How many of `users` are on the ensemble's list. None: it has no list.
base::StatusOr<std::optional<std::int64_t>> CountOnList(const std::string& ensemble,
                                                        const std::set<std::string>& users) {
  const std::string path = UserListPath(ensemble);
  const std::string key_path = ensemble::PartitionKeyPath(ensemble);
  if (!base::FileExists(path) || !base::FileExists(key_path)) return std::optional<std::int64_t>();
  SUBMIX_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  SUBMIX_ASSIGN_OR_RETURN(const auto key, corpus::LoadPartitionKey(key_path));
  std::istringstream lines(text);
  std::set<std::string> list;
  for (std::string line; std::getline(lines, line);) list.insert(line);
  std::int64_t shared = 0;
  for (const std::string& user : users) shared += list.contains(NameOnList(key, user)) ? 1 : 0;
  return std::optional(shared);
}

}  // namespace

base::Status SaveUserList(const std::string& ensemble_directory, const base::HashKey& key,
                          std::span<const std::vector<corpus::UserTokens>> members) {
  // Sorted by hash: the order says nothing of the users.
  std::set<std::string> list;
  for (const auto& member : members) {
    for (const corpus::UserTokens& user : member) list.insert(NameOnList(key, user.user));
  }
  std::string text;
  for (const std::string& name : list) text += name + "\n";
  return base::WriteFile(UserListPath(ensemble_directory), text, 0600);
}

base::StatusOr<std::vector<SharedUsers>> CountSharedUsers(
    const corpus::CorpusFile& corpus, const std::vector<std::string>& ensembles) {
  std::vector<SharedUsers> all;
  if (ensembles.empty()) return all;
  std::set<std::string> users;
  SUBMIX_RETURN_IF_ERROR(corpus::ReadUserRecords(corpus, [&](const corpus::UserRecord& record) {
    users.insert(record.user);
    return base::OkStatus();
  }));
  for (const std::string& ensemble : ensembles) {
    SUBMIX_ASSIGN_OR_RETURN(const auto shared, CountOnList(ensemble, users));
    all.push_back({ensemble, static_cast<std::int64_t>(users.size()), shared});
  }
  return all;
}

}  // namespace submix::train
