// The clipped sum of the gradients of a step's users. Adapters are small: each thread has one of
// its own and takes a user at a time, so that no thread waits for another's share of a product. Of
// all weights there is one copy, and all threads share a user's products. Integers add up exactly,
// so which thread took whom changes no bit. Internal: includes torch.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/train/models/frozen_states.h"
#include "submix/train/models/member_models.h"
#include "submix/train/private_training/dp_sgd.h"
#include "submix/train/private_training/user_gradient.h"
#include "submix/train/sampled_gaussian/clipped_sum.h"

namespace submix::train {

// One thread at a time.
class BatchGradient {
 public:
  // The public model outlives it. Errors: those of MakeMembers.
  static base::StatusOr<std::unique_ptr<BatchGradient>> Make(const PublicModel& public_model,
                                                             const DpSgdOptions& options);

  // From now on what layers below all adapters say of these units is kept in a scratch file in
  // `directory`, for later steps that draw the same unit. Requires: Sum gets the same units.
  void KeepStates(const std::string& directory, std::span<const TrainingUnit> units,
                  const DpSgdOptions& options);

  // At whose parameters the gradients are taken.
  MemberModels& models() { return *workers_.front()->models; }

  // Of the units with these numbers; those without a block count nothing. Calls `on_unit` after
  // each, one thread at a time. Valid until the next call. Errors: what libtorch throws on a thread
  // of its own. Requires: blocks as user_gradient.h has them.
  base::StatusOr<const ClippedSum*> Sum(std::span<const TrainingUnit> units,
                                        std::span<const std::size_t> numbers,
                                        const std::function<void()>& on_unit);

 private:
  struct Worker {
    const std::unique_ptr<MemberModels> models;
    UserGradient gradient;
    ClippedSum sum;
  };

  explicit BatchGradient(bool is_user_a_thread) : is_user_a_thread_(is_user_a_thread) {}

  const bool is_user_a_thread_;  // even with one thread: all number alike, denormals flushed
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<FrozenStates> states_;   // null: nothing is kept
  std::vector<std::size_t> first_blocks_;  // of each unit, among all units' blocks
};

}  // namespace submix::train
