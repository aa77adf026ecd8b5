#include "submix/train/private_training/batch_gradient.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "submix/train/numerics/torch_environment.h"
#include "submix/train/private_training/client_threads.h"

namespace submix::train {

BatchGradient::Worker::Worker(std::unique_ptr<MemberModels> its_models, const DpSgdOptions& options)
    : models(std::move(its_models)),
      gradient(*models, options.blocks_at_a_time),
      sum(models->parameters().size(), options.clip_norm) {}

void BatchGradient::Worker::Add(const TrainingUnit& unit) {
  if (!unit.empty()) sum.Add(gradient.Compute(unit));
}

base::StatusOr<std::unique_ptr<BatchGradient>> BatchGradient::Make(const PublicModel& public_model,
                                                                   const DpSgdOptions& options) {
  const bool has_adapters = options.lora.has_value();
  const int workers = has_adapters ? TorchThreads(options.threads) : 1;
  std::unique_ptr<BatchGradient> batch(new BatchGradient(has_adapters));
  for (int i = 0; i < workers; ++i) {
    SUBMIX_ASSIGN_OR_RETURN(
        auto models, MakeMembers(public_model, options.lora, /*groups=*/1, options.precision));
    batch->workers_.push_back(std::make_unique<Worker>(std::move(models), options));
  }
  return batch;
}

base::StatusOr<const ClippedSum*> BatchGradient::Sum(std::span<const TrainingUnit> units,
                                                     std::span<const std::size_t> numbers,
                                                     const std::function<void()>& on_unit) {
  Worker& first = *workers_.front();
  for (const auto& worker : workers_) {
    worker->sum.Clear();
    if (worker.get() == &first) continue;
    std::ranges::copy(first.models->parameters().values(0),
                      worker->models->parameters().values(0).begin());
  }
  if (!is_user_a_thread_) {
    for (const std::size_t number : numbers) {
      first.Add(units[number]);
      on_unit();
    }
    return &first.sum;
  }
  std::mutex mutex;
  SUBMIX_RETURN_IF_ERROR(RunOnClientThreads(
      static_cast<int>(workers_.size()), numbers.size(), [&](ClientQueue& queue, int thread) {
        Worker& worker = *workers_[static_cast<std::size_t>(thread)];
        while (const auto next = queue.Next()) {
          worker.Add(units[numbers[*next]]);
          const std::lock_guard lock(mutex);
          on_unit();
        }
        return base::OkStatus();
      }));
  for (std::size_t i = 1; i < workers_.size(); ++i) first.sum.Add(workers_[i]->sum);
  return &first.sum;
}

}  // namespace submix::train
