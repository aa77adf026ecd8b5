#include "submix/contexts/context_records.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/corpus/json_record.h"

namespace submix::contexts {
namespace {

using base::Status;
using base::StatusOr;

std::string RecordsPath(const std::string& member_directory) {
  return base::JoinPath(member_directory, "records.jsonl");
}

// No record: listed all the same, also whose only records have other owners. Where the list is
// public, who is on it must not depend on what records are.
using RecordsOfUsers = std::map<std::string, std::vector<ContextRecord>>;

StatusOr<std::vector<RecordsOfUsers>> ReadBatches(const corpus::CorpusFile& file,
                                                  const base::HashKey& key, int batches) {
  std::vector<RecordsOfUsers> texts(static_cast<std::size_t>(batches));
  SUBMIX_RETURN_IF_ERROR(corpus::ReadAllRecords(file, [&](const corpus::UserRecord& record) {
    const int batch = corpus::BatchOf(key, record.user, batches);
    std::vector<ContextRecord>& own = texts[static_cast<std::size_t>(batch)][record.user];
    if (!record.has_other_owners && !record.Written().empty()) own.push_back(record);
    return base::OkStatus();
  }));
  return texts;
}

using PartsOfUsers = std::map<std::string, int>;  // of those who are in one

PartsOfUsers PlaceUsers(const RecordsOfUsers& texts, const base::HashKey& key,
                        const corpus::PartitionOptions& options) {
  PartsOfUsers parts;
  for (const auto& [user, own] : texts) {
    const corpus::Placement place = corpus::PlaceUser(key, user, options);
    if (!place.is_heldout) parts[user] = place.part.index;
  }
  return parts;
}

// Errors: kInvalidArgument for fewer users than parts.
StatusOr<PartsOfUsers> DealOneToEach(const RecordsOfUsers& texts, const base::HashKey& key,
                                     const corpus::PartitionOptions& options) {
  std::set<std::string> users;
  for (const auto& [user, own] : texts) users.insert(user);
  PartsOfUsers parts;
  for (const std::string& user : corpus::DealUsers(key, users, options)) {
    const auto part = static_cast<int>(parts.size());
    parts[user] = part;
  }
  if (std::ssize(parts) == options.num_parts) return parts;
  return base::InvalidArgumentError(
      "users that are not held out: " + std::to_string(parts.size()) +
      ", and --public-keys gives " + std::to_string(options.num_parts) +
      " parts one each; take --heldout-fraction 0, or fewer --parts or --batches");
}

struct PlacedRecord {
  std::uint64_t place = 0;  // in the order of its member's
  ContextRecord record;
};

// By the user and the record's number among the user's: nobody else moves it.
std::uint64_t PlaceOf(const base::HashKey& key, const std::string& user, std::size_t number) {
  return base::KeyedHash(key, "record\n" + std::to_string(number) + "\n" + user);
}

PartitionedRecords InOrder(RecordsOfUsers texts, const PartsOfUsers& parts,
                           const base::HashKey& key, const corpus::PartitionOptions& options) {
  std::vector<std::vector<PlacedRecord>> placed(static_cast<std::size_t>(options.num_parts) *
                                                static_cast<std::size_t>(options.halves));
  PartitionedRecords partitioned;
  for (const auto& [user, part] : parts) {
    std::vector<ContextRecord>& own = texts[user];
    if (own.empty()) continue;
    partitioned.readers.push_back(user);
    const int half = corpus::PlaceUser(key, user, options).half;
    auto& member = placed[static_cast<std::size_t>(part * options.halves + half)];
    for (std::size_t i = 0; i < own.size(); ++i) {
      member.push_back({PlaceOf(key, user, i), std::move(own[i])});
      member.back().record.user = corpus::ForgottenMark(key, user);
    }
  }
  for (auto& member : placed) {
    std::ranges::stable_sort(member, {}, &PlacedRecord::place);
    auto& records = partitioned.members.emplace_back();
    for (PlacedRecord& own : member) records.push_back(std::move(own.record));
  }
  return partitioned;
}

}  // namespace

StatusOr<std::vector<PartitionedRecords>> PartitionRecords(const corpus::CorpusFile& file,
                                                           const base::HashKey& key,
                                                           const corpus::PartitionOptions& options,
                                                           int batches, bool public_keys) {
  SUBMIX_ASSIGN_OR_RETURN(auto texts, ReadBatches(file, key, batches));
  std::vector<PartitionedRecords> partitioned;
  for (RecordsOfUsers& batch : texts) {
    StatusOr<PartsOfUsers> parts = public_keys
                                       ? DealOneToEach(batch, key, options)
                                       : StatusOr<PartsOfUsers>(PlaceUsers(batch, key, options));
    if (!parts.ok()) {
      const std::string where = batches == 1 ? ": " : ": a batch has ";
      return base::InvalidArgumentError(file.path + where + std::string(parts.status().message()));
    }
    partitioned.push_back(InOrder(std::move(batch), *parts, key, options));
  }
  return partitioned;
}

Status SaveRecords(const std::vector<ContextRecord>& records, const std::string& member_directory) {
  std::string lines;
  for (const ContextRecord& record : records) {
    lines += corpus::JsonLine(record);
  }
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(member_directory));
  return base::WriteFile(RecordsPath(member_directory), lines, 0600);
}

StatusOr<std::vector<ContextRecord>> LoadRecords(const std::string& member_directory) {
  const std::string path = RecordsPath(member_directory);
  std::vector<ContextRecord> records;
  SUBMIX_ASSIGN_OR_RETURN(const std::string lines, base::ReadFile(path));
  if (lines.empty()) return records;
  SUBMIX_RETURN_IF_ERROR(corpus::ReadUserRecords(path, [&](const corpus::UserRecord& record) {
    records.push_back(record);
    return base::OkStatus();
  }));
  return records;
}

StatusOr<RemainingRecords> RecordsWithoutUser(const std::string& mark,
                                              const std::string& old_directory,
                                              const std::string& new_directory) {
  RemainingRecords remaining;
  const bool is_repeated =
      !base::FileExists(RecordsPath(old_directory)) && base::FileExists(RecordsPath(new_directory));
  SUBMIX_ASSIGN_OR_RETURN(remaining.records,
                          LoadRecords(is_repeated ? new_directory : old_directory));
  const auto count = std::erase_if(
      remaining.records, [&](const ContextRecord& record) { return record.user == mark; });
  remaining.had_user = is_repeated || count > 0;
  return remaining;
}

}  // namespace submix::contexts
