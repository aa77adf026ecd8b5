// The weights of a GPT-2-architecture model as tensors, by Hugging Face's names.
// Internal: includes torch.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include <torch/types.h>

#include "submix/base/status.h"
#include "submix/model/gpt_config.h"
#include "submix/train/numerics/flat_parameters.h"

namespace submix::train {

// The four linear layers of one transformer layer.
enum LinearIndex { kAttentionIn, kAttentionOut, kMlpIn, kMlpOut };
inline constexpr int kLinearsPerLayer = 4;
// "attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj".
const char* LinearName(int linear);

struct NormWeights {
  at::Tensor weight;  // [C]
  at::Tensor bias;    // [C]
};

struct LinearWeights {
  at::Tensor weight;  // [inputs, outputs], Conv1D's layout
  at::Tensor bias;    // [outputs]
};

struct LayerWeights {
  NormWeights ln_1;
  NormWeights ln_2;
  std::array<LinearWeights, kLinearsPerLayer> linears;
};

struct GptWeights {
  model::GptConfig config;
  at::ScalarType compute_type = torch::kFloat;  // of the linear layers
  at::Tensor wte;                               // [V, C], of the embedding
  at::Tensor unembedding;                       // [V, C], the same weights, perhaps rounded
  at::Tensor wpe;                               // [context_length, C]
  std::vector<LayerWeights> layers;
  NormWeights ln_f;
};

// All tensors of a model of this shape in a fixed order; matrices decay, vectors do not.
std::vector<FlatParameters::Spec> GptTensorSpecs(const model::GptConfig& config);

// Arranges tensors in the order of GptTensorSpecs; linear layers and the unembedding are converted
// to `compute_type` (differentiably), everything else stays as it is.
GptWeights AssembleGptWeights(const model::GptConfig& config, std::span<const at::Tensor> tensors,
                              at::ScalarType compute_type);

// Reads config.json; then model.safetensors, names with or without "transformer.", as float32 in
// the order of GptTensorSpecs. Errors: those of LoadGptConfig, SafetensorsFile::Open and Read.
base::StatusOr<std::vector<at::Tensor>> LoadGptTensors(const std::string& directory,
                                                       const model::GptConfig& config);
base::StatusOr<GptWeights> LoadGptWeights(const std::string& directory,
                                          at::ScalarType compute_type);

// Writes config.json and model.safetensors (float32) into a directory that exists. `values` is flat
// in the order of GptTensorSpecs.
base::Status SaveGptModel(const model::GptConfig& config, std::span<const float> values,
                          const std::string& directory);

}  // namespace submix::train
