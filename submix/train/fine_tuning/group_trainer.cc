#include "submix/train/fine_tuning/group_trainer.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/train/kernels/vector_norm.h"
#include "submix/train/numerics/training_checkpoint.h"
#include "submix/train/recipes/training_options_table.h"

namespace submix::train {
namespace {

constexpr const char* kCheckpointFile = "checkpoint.safetensors";

// Whose weights these are, even the operator need not know.
base::Status CheckTrained(bool has_loss, std::span<const float> weights) {
  if (has_loss && AreFinite(weights)) return base::OkStatus();
  return base::FailedPreconditionError(
      "the loss or the weights of a model in training are not finite; train with a lower learning "
      "rate");
}

// Names one member's training: what is shared, its seed and its text.
std::string MemberIdentity(const std::string& shared, const MemberTask& task) {
  std::string bytes = shared + "\n" + std::to_string(task.seed) + "\n";
  for (const std::vector<base::TokenId>& block : task.blocks) {
    bytes += std::to_string(block.size()) + ":";
    bytes.append(reinterpret_cast<const char*>(block.data()), block.size() * sizeof block[0]);
  }
  return base::ToHex(base::Sha256(bytes));
}

}  // namespace

std::string TrainingIdentity(const FineTuneOptions& options) {
  std::ostringstream text;
  text << IdentityNumbers(options) << ' ' << static_cast<int>(options.precision) << ' ';
  if (options.lora.has_value()) text << AdapterIdentity(*options.lora, options.epochs);
  return text.str();
}

std::int64_t PlannedUpdates(const std::vector<TaskQueue>& queues, const FineTuneOptions& options) {
  std::int64_t most = 0;
  for (const TaskQueue& queue : queues) {
    std::int64_t steps = 0;
    for (const MemberTask* task : queue) steps += PlannedSteps(*task, options);
    most = std::max(most, steps);
  }
  return most;
}

GroupTrainer::GroupTrainer(MemberModels& models, std::vector<TaskQueue> queues,
                           const FineTuneOptions& options, const std::string& identity)
    : models_(models),
      options_(options),
      identity_(identity),
      batch_(std::ssize(queues) * options.batch_size, options.block_tokens - 1),
      planned_updates_(PlannedUpdates(queues, options)) {
  for (TaskQueue& queue : queues) {
    Group& group = groups_.emplace_back();
    for (const MemberTask* task : queue) {
      if (!base::FileExists(task->output_directory)) {
        group.steps_left += PlannedSteps(*task, options);
      }
    }
    group.queue = std::move(queue);
  }
}

GroupTrainer::Progress GroupTrainer::Progress::On(base::ProgressBar& bar) {
  return {[&bar](std::int64_t updates) { bar.Skip(updates); },
          [&bar](std::int64_t updates) { bar.Advance(updates); }};
}

std::int64_t GroupTrainer::UpdatesLeft() const {
  return std::ranges::max_element(groups_, {}, &Group::steps_left)->steps_left;
}

base::Status GroupTrainer::Run(const Progress& progress) {
  for (int group = 0; group < static_cast<int>(groups_.size()); ++group) {
    SUBMIX_RETURN_IF_ERROR(StartNext(group));
  }
  std::int64_t left = UpdatesLeft();
  progress.skipped(planned_updates_ - left);
  while (
      std::ranges::any_of(groups_, [](const Group& group) { return group.member.has_value(); })) {
    if (options_.should_stop && options_.should_stop()) {
      return base::UnavailableError("training was stopped; started again, it goes on");
    }
    SUBMIX_RETURN_IF_ERROR(Step());
    progress.done(left - UpdatesLeft());
    left = UpdatesLeft();
  }
  return base::OkStatus();
}

GroupTrainer::Member GroupTrainer::MakeMember(const MemberTask& task) const {
  std::vector<std::size_t> blocks = UsableBlocks(task);
  const TrainingOrder order(blocks.size(), options_.batch_size, task.seed);
  return {.task = &task,
          .blocks = std::move(blocks),
          .order = order,
          .state = AdamWState(models_.parameters().size()),
          .total_steps = options_.epochs * order.steps_per_epoch(),
          .partial_directory = task.output_directory + ".partial",
          .identity = MemberIdentity(identity_, task),
          .states = nullptr};
}

base::Status GroupTrainer::StartNext(int group) {
  Group& its = groups_[static_cast<std::size_t>(group)];
  its.member.reset();
  while (!its.member.has_value() && its.next < its.queue.size()) {
    const MemberTask& task = *its.queue[its.next++];
    if (base::FileExists(task.output_directory)) continue;
    its.member.emplace(MakeMember(task));
    SUBMIX_RETURN_IF_ERROR(Resume(group));
    if (its.member->state.step < its.member->total_steps) continue;
    SUBMIX_RETURN_IF_ERROR(Finish(group));
    its.member.reset();
  }
  return base::OkStatus();
}

base::Status GroupTrainer::Resume(int group) {
  Member& member = *groups_[static_cast<std::size_t>(group)].member;
  models_.Initialize(group, member.task->seed);
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(member.partial_directory));
  const std::size_t state_bytes = models_.StateBytes(options_.block_tokens - 1);
  if (options_.epochs > 1 && state_bytes > 0) {
    member.states = std::make_unique<FrozenStates>(member.partial_directory, member.blocks.size(),
                                                   state_bytes, options_.frozen_states);
  }
  SUBMIX_RETURN_IF_ERROR(
      LoadTrainingCheckpoint(base::JoinPath(member.partial_directory, kCheckpointFile),
                             member.identity, models_.parameters().values(group), member.state));
  groups_[static_cast<std::size_t>(group)].steps_left -= member.state.step;
  return base::OkStatus();
}

void GroupTrainer::FillBatch() {
  batch_.Clear();
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (!groups_[group].member.has_value()) continue;
    Member& member = *groups_[group].member;
    const auto first_row = static_cast<std::int64_t>(group) * options_.batch_size;
    std::int64_t row = first_row;
    for (const std::size_t index : member.order.Batch(member.state.step)) {
      std::optional<StatePlace> place;
      if (member.states != nullptr) place = {member.states.get(), index};
      batch_.SetRow(row++, member.task->blocks[member.blocks[index]], place);
    }
    batch_.WeighEqually(first_row, row);
  }
}

base::Status GroupTrainer::Step() {
  FillBatch();
  models_.parameters().Differentiate(models_.Loss(batch_));
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (!groups_[i].member.has_value()) continue;
    const int group = static_cast<int>(i);
    const Member& member = *groups_[i].member;
    SUBMIX_RETURN_IF_ERROR(Update(group));
    --groups_[i].steps_left;
    if (member.state.step < member.total_steps) continue;
    SUBMIX_RETURN_IF_ERROR(Finish(group));
    SUBMIX_RETURN_IF_ERROR(StartNext(group));
  }
  return base::OkStatus();
}

base::Status GroupTrainer::Update(int group) {
  Member& member = *groups_[static_cast<std::size_t>(group)].member;
  FlatParameters& parameters = models_.parameters();
  const double norm = VectorNorm(parameters.gradients(group));
  const bool is_finite = std::isfinite(norm);
  if (is_finite) {
    const double limit = options_.gradient_clip;
    const double scale = limit > 0 && norm > limit ? limit / norm : 1.0;
    const double rate = LearningRate(options_.learning_rate, member.state.step, member.total_steps);
    AdamWUpdate(parameters.values(group), parameters.gradients(group), parameters.vectors(), rate,
                scale, options_.adamw, member.state);
  } else {
    // This member's batch overflowed: it alone goes without this update.
    ++member.state.step;
  }
  const bool is_last = member.state.step == member.total_steps;
  if (is_last || !is_finite) {
    SUBMIX_RETURN_IF_ERROR(CheckTrained(is_finite || !is_last, parameters.values(group)));
  }
  if (options_.checkpoint_every > 0 && member.state.step < member.total_steps &&
      member.state.step % options_.checkpoint_every == 0) {
    return SaveTrainingCheckpoint(base::JoinPath(member.partial_directory, kCheckpointFile),
                                  member.identity, parameters.values(group), member.state);
  }
  return base::OkStatus();
}

base::Status GroupTrainer::Finish(int group) {
  const Member& member = *groups_[static_cast<std::size_t>(group)].member;
  SUBMIX_RETURN_IF_ERROR(models_.Save(group, member.partial_directory));
  SUBMIX_RETURN_IF_ERROR(
      base::RemoveAll(base::JoinPath(member.partial_directory, kCheckpointFile)));
  return base::Rename(member.partial_directory, member.task->output_directory);
}

}  // namespace submix::train
