#include "submix/train/fine_tuning/fine_tune.h"

#include <algorithm>
#include <cmath>

#include "submix/base/file_system.h"
#include "submix/train/fine_tuning/group_trainer.h"
#include "submix/train/fine_tuning/member_recipe.h"
#include "submix/train/numerics/torch_environment.h"
#include "submix/train/numerics/torch_errors.h"

namespace submix::train {
namespace {

base::Status CheckTasks(std::span<const MemberTask> tasks, const FineTuneOptions& options,
                        const model::DecoderConfig& config) {
  for (const MemberTask& task : tasks) {
    for (const std::vector<base::TokenId>& block : task.blocks) {
      if (block.size() <= static_cast<std::size_t>(options.block_tokens)) continue;
      return base::InvalidArgumentError(
          task.output_directory + ": a block of " + std::to_string(block.size()) +
          " tokens; at most " + std::to_string(options.block_tokens) + " (block_tokens) fit");
    }
    const base::Status status = CheckTokenIds(task.blocks, config);
    if (!status.ok()) return {status.code(), task.output_directory + ": " + status.message()};
  }
  return base::OkStatus();
}

// Everything shared that decides the outcome, so that no checkpoint of another training is used.
base::StatusOr<std::string> SharedIdentity(const std::string& public_directory,
                                           const FineTuneOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string weights, PublicModelSha256(public_directory));
  return weights + " " + TrainingIdentity(options);
}

std::int64_t TotalTokens(const MemberTask& task, const FineTuneOptions& options) {
  std::int64_t total = 0;
  for (const std::vector<base::TokenId>& block : task.blocks) {
    total += std::max<std::int64_t>(0, std::ssize(block) - 1);
  }
  return total * options.epochs;
}

using Group = std::span<const MemberTask>;

// Groups are fixed by index, also when some of their members are done: shapes stay public.
std::vector<Group> GroupsOf(std::span<const MemberTask> tasks, const FineTuneOptions& options,
                            GroupShare share) {
  const std::size_t size =
      options.lora.has_value() ? static_cast<std::size_t>(options.members_at_a_time) : 1;
  std::vector<Group> groups;
  for (std::size_t first = static_cast<std::size_t>(share.first) * size; first < tasks.size();
       first += static_cast<std::size_t>(share.stride) * size) {
    groups.push_back(tasks.subspan(first, std::min(size, tasks.size() - first)));
  }
  return groups;
}

struct TokenCount {
  std::int64_t all = 0;
  std::int64_t done = 0;  // by earlier runs
};

TokenCount CountTokens(const std::vector<Group>& groups, const FineTuneOptions& options) {
  TokenCount count;
  for (const Group group : groups) {
    for (const MemberTask& task : group) {
      const std::int64_t tokens = TotalTokens(task, options);
      count.all += tokens;
      if (base::FileExists(task.output_directory)) count.done += tokens;
    }
  }
  return count;
}

base::Status TrainGroups(const std::string& public_directory, std::span<const MemberTask> tasks,
                         const FineTuneOptions& options, base::ProgressStyle style,
                         GroupShare share) {
  SUBMIX_ASSIGN_OR_RETURN(const PublicModel public_model,
                          LoadPublicModel(public_directory, options.precision));
  SUBMIX_RETURN_IF_ERROR(CheckFineTuneOptions(options, public_model.config));
  SUBMIX_RETURN_IF_ERROR(CheckTasks(tasks, options, public_model.config));
  SUBMIX_ASSIGN_OR_RETURN(const std::string identity, SharedIdentity(public_directory, options));
  const std::vector<Group> groups = GroupsOf(tasks, options, share);
  const TokenCount tokens = CountTokens(groups, options);
  base::ProgressBar progress("fine-tuning", tokens.all, "tokens", style);
  progress.SkipTo(tokens.done);
  std::unique_ptr<MemberModels> models;
  for (const Group group : groups) {
    const int members = static_cast<int>(group.size());
    if (models == nullptr || models->parameters().groups() != members) {
      models = nullptr;
      SUBMIX_ASSIGN_OR_RETURN(models,
                              MakeMembers(public_model, options.lora, members, options.precision));
    }
    const auto first = static_cast<std::size_t>(group.data() - tasks.data());
    GroupTrainer trainer(*models, group, first, options, identity);
    SUBMIX_RETURN_IF_ERROR(trainer.Run(progress));
  }
  return base::OkStatus();
}

}  // namespace

base::Status CheckFineTuneOptions(const FineTuneOptions& options,
                                  const model::DecoderConfig& config) {
  const auto refuse = [](const std::string& what) { return base::InvalidArgumentError(what); };
  if (options.epochs < 1) return refuse("epochs: expected 1 or more");
  if (options.batch_size < 1) return refuse("batch_size: expected 1 or more");
  if (options.members_at_a_time < 1) return refuse("members_at_a_time: expected 1 or more");
  if (!(options.gradient_clip >= 0)) return refuse("gradient_clip: expected 0 or more");
  return CheckTrainingOptions(options, config);
}

base::Status FineTuneMembers(const std::string& public_directory, std::span<const MemberTask> tasks,
                             const FineTuneOptions& options, base::ProgressStyle progress,
                             GroupShare share) {
  if (tasks.empty()) return base::OkStatus();
  SUBMIX_RETURN_IF_ERROR(SetTorchThreads(options.threads));
  return CatchTorchErrors(
      [&] { return TrainGroups(public_directory, tasks, options, progress, share); });
}

}  // namespace submix::train
