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

base::Status ShareMembers(Ranks* ranks, std::string public_directory,
                          std::span<const MemberTask> tasks, const FineTuneOptions& options,
                          base::ProgressStyle progress) {
  if (ranks == nullptr) return FineTuneMembers(public_directory, tasks, options, progress);
  BroadcastText(*ranks, public_directory);
  std::vector<MemberTask> all(tasks.begin(), tasks.end());
  std::uint64_t count = all.size();
  BroadcastValue(*ranks, count);
  all.resize(count);
  for (MemberTask& task : all) BroadcastTask(*ranks, task);
  const base::Status status =
      FineTuneMembers(public_directory, all, options, progress, {ranks->rank(), ranks->size()});
  if (status.ok()) {
    ranks->Barrier();
  } else if (!ranks->is_root()) {
    return {status.code(), "rank " + std::to_string(ranks->rank()) + ": " + status.message()};
  }
  return status;
}

base::Status ServeMembers(Ranks& ranks, const FineTuneOptions& options) {
  return ShareMembers(&ranks, "", {}, options, base::ProgressStyle::kSilent);
}

}  // namespace submix::train
