#include "submix/contexts/context_records.h"

#include <algorithm>
#include <map>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"

namespace submix::contexts {
namespace {

using base::Status;
using base::StatusOr;

std::string RecordsPath(const std::string& member_directory) {
  return base::JoinPath(member_directory, "records.jsonl");
}

struct PlacedRecord {
  std::uint64_t place = 0;  // in the order of its member's
  ContextRecord record;
};

struct PlacedRecords {
  std::vector<std::vector<PlacedRecord>> members;
  std::map<std::string, int> counts;  // of readers
};

PartitionedRecords InOrder(PlacedRecords placed) {
  PartitionedRecords partitioned;
  for (auto& member : placed.members) {
    std::ranges::stable_sort(member, {}, &PlacedRecord::place);
    auto& records = partitioned.members.emplace_back();
    for (PlacedRecord& own : member) records.push_back(std::move(own.record));
  }
  for (const auto& [user, count] : placed.counts) partitioned.readers.push_back(user);
  return partitioned;
}

}  // namespace

StatusOr<std::vector<PartitionedRecords>> PartitionRecords(const corpus::CorpusFile& file,
                                                           const base::HashKey& key,
                                                           const corpus::PartitionOptions& options,
                                                           int batches) {
  const std::size_t members =
      static_cast<std::size_t>(options.num_parts) * static_cast<std::size_t>(options.halves);
  std::vector<PlacedRecords> placed(static_cast<std::size_t>(batches));
  for (PlacedRecords& batch : placed) batch.members.resize(members);
  SUBMIX_RETURN_IF_ERROR(corpus::ReadUserRecords(file, [&](const corpus::UserRecord& record) {
    const corpus::Placement to = corpus::PlaceUser(key, record.user, options);
    if (to.is_heldout || record.text.empty()) return base::OkStatus();
    PlacedRecords& batch =
        placed[static_cast<std::size_t>(corpus::BatchOf(key, record.user, batches))];
    // By the user and the record's number among the user's: nobody else moves it.
    const std::string number = std::to_string(batch.counts[record.user]++);
    const std::uint64_t place = base::KeyedHash(key, "record\n" + number + "\n" + record.user);
    batch.members[static_cast<std::size_t>(to.part.index * options.halves + to.half)].push_back(
        {place, {corpus::ForgottenMark(key, record.user), record.text}});
    return base::OkStatus();
  }));
  std::vector<PartitionedRecords> partitioned;
  for (PlacedRecords& batch : placed) partitioned.push_back(InOrder(std::move(batch)));
  return partitioned;
}

Status SaveRecords(const std::vector<ContextRecord>& records, const std::string& member_directory) {
  std::string lines;
  for (const ContextRecord& record : records) {
    lines += "{\"user\": " + base::JsonText(record.user) +
             ", \"text\": " + base::JsonText(record.text) + "}\n";
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
    records.push_back({record.user, record.text});
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
