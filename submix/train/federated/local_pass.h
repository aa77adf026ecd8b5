// What one user contributes to a round of DP-FedAvg or DP-FedSGD (McMahan et al. 2018, Algorithm 1:
// UserUpdateFedAvg, UserUpdateFedSGD). A function of the shared model, the user's own words and
// public options: nothing is drawn, nothing of another user is seen.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "submix/base/ids.h"
#include "submix/train/federated/federated_model.h"
#include "submix/train/sampled_gaussian/clipped_sum.h"

namespace submix::train {

enum class FederatedAlgorithm {
  kFedAvg,  // `epochs` passes of SGD, projected back onto the clipping ball after every step
  kFedSgd,  // one step with the gradient of the user's whole text, then clipped
};

struct LocalTraining {
  FederatedAlgorithm algorithm = FederatedAlgorithm::kFedAvg;
  int epochs = 1;            // E; FedAvg only
  int batch_size = 8;        // B, rows; FedSGD: rows are read side by side, the gradient is one
  int unroll = 10;           // tokens a row and batch
  double learning_rate = 6;  // of batches' mean losses
};

// One thread at a time. libtorch's exceptions pass through.
class LocalPass {
 public:
  // `model` outlives it.
  LocalPass(const FederatedModel& model, const LocalTraining& training);

  // The user's update, clipped: end - start, [N], valid until the next call. Requires: tokens
  // within the vocabulary, at least one.
  std::span<const float> Update(std::span<const float> start, std::span<const base::TokenId> tokens,
                                const UpdateClipping& clipping);

 private:
  void RunFedAvg(std::span<const float> start, std::span<const base::TokenId> tokens,
                 const UpdateClipping& clipping);
  void RunFedSgd(std::span<const float> start, std::span<const base::TokenId> tokens,
                 const UpdateClipping& clipping);
  void Project(const UpdateClipping& clipping);

  const ParameterVectors vectors_;
  const LocalTraining training_;
  const std::unique_ptr<ClientModel> client_;
  std::vector<float> parameters_;
  std::vector<float> gradient_;
  std::vector<float> update_;
};

}  // namespace submix::train
