// What a group of members trains: adapters over one frozen base, or one whole model.
// Internal: includes torch.
#pragma once

#include <memory>
#include <string>

#include <torch/types.h>

#include "submix/base/status.h"
#include "submix/model/lora_adapter.h"
#include "submix/train/models/fused_operations.h"
#include "submix/train/models/gpt_weights.h"
#include "submix/train/models/token_batch.h"
#include "submix/train/numerics/flat_parameters.h"

namespace submix::train {

// The public model as read from disk; shared by all members.
struct PublicModel {
  model::GptConfig config;
  std::vector<at::Tensor> tensors;  // float32, in the order of GptTensorSpecs
};

base::StatusOr<PublicModel> LoadPublicModel(const std::string& directory);

// One thread at a time.
class MemberModels {
 public:
  virtual ~MemberModels() = default;

  virtual FlatParameters& parameters() = 0;
  // Sets a member's parameters to their start.
  virtual void Initialize(int group, std::uint64_t seed) = 0;
  // The weighted loss of a batch of all members; differentiable.
  CrossEntropy Loss(const TokenBatch& batch);
  // [rows * positions, V] float32 of rows from their start; not differentiable.
  at::Tensor Logits(const at::Tensor& tokens);
  // Writes a member's finished files into a directory that exists.
  virtual base::Status Save(int group, const std::string& directory) = 0;

 protected:
  struct LastLayer {
    at::Tensor hidden;       // [rows * positions, C]
    at::Tensor unembedding;  // [V, C]
  };
  // Differentiable where parameters are.
  virtual LastLayer Forward(const at::Tensor& tokens) = 0;
};

// LoRA adapters of `groups` members. Errors: those of AdaptedModules.
base::StatusOr<std::unique_ptr<MemberModels>> MakeLoraMembers(const PublicModel& public_model,
                                                              const model::LoraConfig& config,
                                                              int groups,
                                                              at::ScalarType compute_type);
// All weights of one member.
std::unique_ptr<MemberModels> MakeFullMember(const PublicModel& public_model,
                                             at::ScalarType compute_type);

}  // namespace submix::train
