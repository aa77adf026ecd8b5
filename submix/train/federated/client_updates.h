// What the users of one round of federated training compute together: every participant's local
// pass from the shared model, clipped, weighted and added up; on this process's threads and, with
// several ranks, on all of theirs. The sum is the same bits whatever their numbers. Torch-free.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/train/federated/federated_model.h"
#include "submix/train/federated/local_pass.h"
#include "submix/train/kernels/ranks.h"
#include "submix/train/sampled_gaussian/clipped_sum.h"

namespace submix::train {

// How each user trains in all rounds of a training.
struct ClientTraining {
  LocalTraining local;
  std::int64_t full_weight_tokens = 1;  // w^: a user with n tokens weighs min(n / w^, 1)
};

// One thread at a time.
class ClientUpdates {
 public:
  // With `ranks` (of which this process is the root) the others are in ServeClientUpdates; null:
  // this process alone. Requires: threads >= 1; `model` and `ranks` outlive it.
  ClientUpdates(const FederatedModel& model, const ClientTraining& training,
                const UpdateClipping& clipping, int threads, Ranks* ranks);

  // The sum over these users, from this model; valid until the next call. Errors: libtorch's; the
  // other ranks then wait for ever.
  base::StatusOr<const ClippedSum*> Sum(std::span<const float> parameters,
                                        const std::vector<std::span<const base::TokenId>>& users,
                                        const UpdateClipping& clipping);
  // Lets the other ranks go: ServeClientUpdates returns there. Last.
  void Dismiss();

 private:
  friend base::Status ServeClientUpdates(Ranks& ranks, const FederatedModel& model, int threads);

  struct Worker {
    LocalPass pass;
    ClippedSum sum;
  };

  // The part of users first, first + stride, …, into the first worker's sum.
  base::Status SumShare(std::span<const float> parameters,
                        const std::vector<std::span<const base::TokenId>>& users,
                        const UpdateClipping& clipping, std::size_t first, std::size_t stride);

  const ClientTraining training_;
  Ranks* const ranks_;
  std::vector<std::unique_ptr<Worker>> workers_;  // one a thread
};

// What every rank but the root does: computes its share of every round until the root dismisses
// it. Everything but the model's kind comes from the root, users' tokens and parameters among it.
// Requires: the root's kind of model. Errors: libtorch's.
base::Status ServeClientUpdates(Ranks& ranks, const FederatedModel& model, int threads);

}  // namespace submix::train
