// The LoRA adapters of G members side by side: one tensor a factor, with the members along the
// first dimension, so that one batched product adapts all of them.
// Internal: includes torch.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include <torch/types.h>

#include "submix/model/lora_adapter.h"
#include "submix/train/models/gpt_weights.h"
#include "submix/train/numerics/flat_parameters.h"

namespace submix::train {

struct LoraFactors {
  at::Tensor a;  // [G, rank, inputs]
  at::Tensor b;  // [G, rank, outputs]
};

using LayerAdapters = std::array<std::optional<LoraFactors>, kLinearsPerLayer>;

struct LoraStack {
  int groups = 0;      // G
  double scaling = 1;  // of B; 1 where it is in b already
  std::vector<LayerAdapters> layers;

  // The lowest adapted layer; layers.size() if there is none.
  int FirstAdaptedLayer() const;
};

// Parameters of one member: "h.0.attn.c_attn.lora_A" [rank, inputs], "….lora_B" [outputs, rank].
std::vector<FlatParameters::Spec> LoraSpecs(const model::LoraConfig& config,
                                            std::span<const model::LoraModule> modules);
// PEFT's initialisation: A uniform in +-1/sqrt(inputs) (Kaiming with a = sqrt 5), B zero.
void InitializeLora(std::span<const model::LoraModule> modules, int group, std::uint64_t seed,
                    FlatParameters& parameters);
// Views of `parameters`, differentiable.
LoraStack StackForTraining(const model::GptConfig& model, const model::LoraConfig& config,
                           std::span<const model::LoraModule> modules,
                           const FlatParameters& parameters);
// One member's trained parameters as an adapter.
model::LoraAdapter ToAdapter(const model::LoraConfig& config,
                             std::span<const model::LoraModule> modules, int group,
                             FlatParameters& parameters);

// For inference: group 0 is the public model (a zero adapter), group 1 + i is adapters[i]; modules
// and ranks may differ, what is missing is zero.
LoraStack StackForInference(const model::GptConfig& model,
                            std::span<const model::LoraAdapter> adapters);

}  // namespace submix::train
