// What a group of members trains: adapters over one frozen base, or one whole model.
// Internal: includes torch.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <torch/types.h>

#include "submix/base/status.h"
#include "submix/model/lora_adapter.h"
#include "submix/train/models/decoder_weights.h"
#include "submix/train/models/fused_operations.h"
#include "submix/train/models/token_batch.h"
#include "submix/train/numerics/flat_parameters.h"

namespace submix::train {

// One thread at a time.
class MemberModels {
 public:
  virtual ~MemberModels() = default;

  // Others of the same shapes over the same frozen weights, for another thread; null of a whole
  // model, which has none.
  virtual std::unique_ptr<MemberModels> Twin() const = 0;

  virtual FlatParameters& parameters() = 0;
  // Sets a member's parameters to their start: an adapter's as PEFT does (A uniform in
  // +-1/sqrt(inputs), which is Kaiming with a = sqrt 5, B zero), a whole model's to the public one.
  virtual void Initialize(int group, std::uint64_t seed) = 0;
  // Bytes of what the layers below all adapters say of a row of so many positions: the residual
  // stream there, rounded to what products are computed in. 0: no layer is below.
  virtual std::size_t StateBytes(std::int64_t positions) const = 0;
  // The weighted loss of a batch of all members; differentiable. Rows that have places (not where
  // StateBytes is 0) start from their kept states. Those that are missing are computed a row at a
  // time and kept there: what a row starts from depends on its own tokens and the number of
  // positions alone, and padding starts from zero.
  at::Tensor Loss(const TokenBatch& batch);
  // [rows * positions, V] float32 of rows from their start; not differentiable.
  at::Tensor Logits(const at::Tensor& tokens);
  // Writes a member's finished files into a directory that exists.
  virtual base::Status Save(int group, const std::string& directory) = 0;

 protected:
  struct LastLayer {
    at::Tensor hidden;       // [rows * positions, C]
    at::Tensor unembedding;  // [V, C]
    double soft_cap = 0;     // of logits; 0: none
  };
  // Differentiable where parameters are.
  virtual LastLayer Forward(const at::Tensor& tokens) = 0;
  // The same of a batch that has places. Requires: StateBytes is not 0.
  virtual LastLayer ForwardFromStates(const TokenBatch& batch) = 0;
};

// What adapters depend on whose text is passed over so often: IdentityText and, where passes start
// from kept states, that these are rounded.
std::string AdapterIdentity(const model::LoraConfig& config, std::int64_t passes);

// LoRA adapters of `groups` members or, without `lora`, all weights of one. An adapter's parameters
// are "h.0.attn.c_attn.lora_A" [rank, inputs] and "….lora_B" [outputs, rank], module by module. The
// public model outlives it. Errors: those of AdaptedModules; kInvalidArgument if no layer is
// adapted. Requires: groups = 1 without `lora`.
base::StatusOr<std::unique_ptr<MemberModels>> MakeMembers(
    const PublicModel& public_model, const std::optional<model::LoraConfig>& lora, int groups,
    Precision precision);

}  // namespace submix::train
