#include "submix/train/private_training/batch_gradient.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "submix/train/numerics/client_threads.h"
#include "submix/train/numerics/torch_environment.h"

namespace submix::train {

base::StatusOr<std::unique_ptr<BatchGradient>> BatchGradient::Make(const PublicModel& public_model,
                                                                   const DpSgdOptions& options) {
  const bool has_adapters = options.lora.has_value();
  const int workers = has_adapters ? TorchThreads(options.threads) : 1;
  std::unique_ptr<BatchGradient> batch(new BatchGradient(has_adapters));
  SUBMIX_ASSIGN_OR_RETURN(auto models,
                          MakeMembers(public_model, options.lora, /*groups=*/1, options.precision));
  for (int i = 0; i < workers; ++i) {
    if (i > 0) models = batch->models().Twin();
    MemberModels& its = *models;
    batch->workers_.push_back(std::unique_ptr<Worker>(
        new Worker{std::move(models), UserGradient(its, options.blocks_at_a_time),
                   ClippedSum(its.parameters().size(), options.clip_norm)}));
  }
  return batch;
}

void BatchGradient::KeepStates(const std::string& directory, std::span<const TrainingUnit> units,
                               const DpSgdOptions& options) {
  const std::size_t state_bytes = models().StateBytes(options.block_tokens - 1);
  if (state_bytes == 0) return;
  std::size_t blocks = 0;
  first_blocks_.clear();
  for (const TrainingUnit& unit : units) {
    first_blocks_.push_back(blocks);
    blocks += unit.size();
  }
  states_ = std::make_unique<FrozenStates>(directory, blocks, state_bytes, options.frozen_states);
}

base::StatusOr<const ClippedSum*> BatchGradient::Sum(std::span<const TrainingUnit> units,
                                                     std::span<const std::size_t> numbers,
                                                     const std::function<void()>& on_unit) {
  const auto add = [&](std::size_t number, Worker& worker) {
    if (units[number].empty()) return;
    std::optional<StatePlace> first;
    if (states_ != nullptr) first = {states_.get(), first_blocks_[number]};
    worker.sum.Add(worker.gradient.Compute(units[number], first));
  };
  Worker& first = *workers_.front();
  for (const auto& worker : workers_) {
    worker->sum.Clear();
    if (worker.get() == &first) continue;
    std::ranges::copy(first.models->parameters().values(0),
                      worker->models->parameters().values(0).begin());
  }
  if (!is_user_a_thread_) {
    for (const std::size_t number : numbers) {
      add(number, first);
      on_unit();
    }
    return &first.sum;
  }
  std::mutex mutex;
  SUBMIX_RETURN_IF_ERROR(RunOnClientThreads(
      static_cast<int>(workers_.size()), numbers.size(), [&](ClientQueue& queue, int thread) {
        Worker& worker = *workers_[static_cast<std::size_t>(thread)];
        while (const auto next = queue.Next()) {
          add(numbers[*next], worker);
          const std::lock_guard lock(mutex);
          on_unit();
        }
        return base::OkStatus();
      }));
  for (std::size_t i = 1; i < workers_.size(); ++i) first.sum.Add(workers_[i]->sum);
  return &first.sum;
}

}  // namespace submix::train
