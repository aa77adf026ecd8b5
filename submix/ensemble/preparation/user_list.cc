#include "submix/ensemble/preparation/user_list.h"

#include <set>
#include <sstream>

#include "submix/base/file_system.h"
#include "submix/corpus/partition.h"
#include "submix/ensemble/ensemble_directory.h"

namespace submix::ensemble {
namespace {

// The hash of a user on a list, in decimal.
std::string NameOnList(const base::HashKey& key, const std::string& user) {
  return std::to_string(base::KeyedHash(key, "reader\n" + user));
}

}  // namespace

std::string UserListPath(const std::string& ensemble_directory) {
  return base::JoinPath(ensemble_directory, "users");
}

base::StatusOr<std::optional<std::vector<std::string>>> UsersOnList(
    const std::string& ensemble_directory, const std::vector<std::string>& users) {
  using Listed = std::optional<std::vector<std::string>>;
  const std::string path = UserListPath(ensemble_directory);
  const std::string key_path = PartitionKeyPath(ensemble_directory);
  if (!base::FileExists(path) || !base::FileExists(key_path)) return Listed();
  SUBMIX_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  SUBMIX_ASSIGN_OR_RETURN(const auto key, corpus::LoadPartitionKey(key_path));
  std::istringstream lines(text);
  std::set<std::string> list;
  for (std::string line; std::getline(lines, line);) list.insert(line);
  Listed listed(std::in_place);
  for (const std::string& user : users) {
    if (list.contains(NameOnList(key, user))) listed->push_back(user);
  }
  return listed;
}

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
  const std::vector<std::string> distinct(users.begin(), users.end());
  for (const std::string& ensemble : ensembles) {
    SUBMIX_ASSIGN_OR_RETURN(const auto listed, UsersOnList(ensemble, distinct));
    all.push_back({ensemble, std::ssize(distinct), std::nullopt});
    if (listed.has_value()) all.back().shared = std::ssize(*listed);
  }
  return all;
}

}  // namespace submix::ensemble
