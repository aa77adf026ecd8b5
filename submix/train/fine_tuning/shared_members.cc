#include "submix/train/fine_tuning/shared_members.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace submix::train {
namespace {

void BroadcastText(Ranks& ranks, std::string& text) {
  std::vector<char> bytes(text.begin(), text.end());
  BroadcastVector(ranks, bytes);
  text.assign(bytes.begin(), bytes.end());
}

void BroadcastTask(Ranks& ranks, MemberTask& task) {
  BroadcastText(ranks, task.output_directory);
  BroadcastValue(ranks, task.seed);
  BroadcastTokens(ranks, task.blocks);
}

}  // namespace

base::Status ShareMembers(Ranks* ranks, const std::string& public_directory,
                          std::span<const MemberTask> tasks, const FineTuneOptions& options,
                          base::ProgressStyle progress) {
  if (ranks == nullptr) return FineTuneMembers(public_directory, tasks, options, progress);
  std::string directory = public_directory;
  BroadcastText(*ranks, directory);
  std::uint64_t count = tasks.size();
  BroadcastValue(*ranks, count);
  for (MemberTask task : tasks) BroadcastTask(*ranks, task);
  SUBMIX_RETURN_IF_ERROR(
      FineTuneMembers(public_directory, tasks, options, progress, {ranks->rank(), ranks->size()}));
  ranks->Barrier();
  return base::OkStatus();
}

base::Status ServeMembers(Ranks& ranks, const FineTuneOptions& options) {
  std::string directory;
  BroadcastText(ranks, directory);
  std::uint64_t count = 0;
  BroadcastValue(ranks, count);
  std::vector<MemberTask> tasks(count);
  for (MemberTask& task : tasks) BroadcastTask(ranks, task);
  const base::Status status = FineTuneMembers(
      directory, tasks, options, base::ProgressStyle::kSilent, {ranks.rank(), ranks.size()});
  if (!status.ok()) {
    return {status.code(), "rank " + std::to_string(ranks.rank()) + ": " + status.message()};
  }
  ranks.Barrier();
  return base::OkStatus();
}

}  // namespace submix::train
