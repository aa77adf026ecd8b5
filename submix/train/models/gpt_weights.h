// The weights of a GPT-2-architecture model as tensors, by Hugging Face's names.
// Internal: includes torch.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <torch/types.h>

#include "submix/base/status.h"
#include "submix/model/decoder_config.h"
#include "submix/train/numerics/parameter_vectors.h"
#include "submix/train/numerics/precision.h"

namespace submix::train {

at::ScalarType ScalarTypeOf(Precision precision);

// A model as read from disk; the public one is shared by all members.
struct PublicModel {
  model::DecoderConfig config;
  std::vector<at::Tensor> tensors;  // float32, in the order of model::GptTensors
};

// Reads config.json and model.safetensors, names with or without "transformer.". Errors: those of
// LoadDecoderConfig, SafetensorsFile::Open and Read.
base::StatusOr<PublicModel> LoadPublicModel(const std::string& directory);

// Writes config.json and model.safetensors (float32) into a directory that exists. `values` is flat
// in the order of GptVectors.
base::Status SaveGptModel(const model::DecoderConfig& config, std::span<const float> values,
                          const std::string& directory);

// model::GptTensors one behind the other; matrices decay, vectors do not.
ParameterVectors GptVectors(const model::DecoderConfig& config);

// What a pass multiplies with.
struct GptWeights {
  model::DecoderConfig config;
  at::ScalarType compute_type = torch::kFloat;  // of the linear layers
  std::map<std::string, at::Tensor> tensors;    // by name
  at::Tensor unembedding;                       // [V, C]: the embedding, perhaps rounded

  const at::Tensor& operator[](const std::string& name) const { return tensors.at(name); }
};

// `tensors` are in the order of model::GptTensors; linear layers and the unembedding are converted
// to `compute_type` (differentiably), everything else stays as it is.
GptWeights AssembleGptWeights(const model::DecoderConfig& config,
                              std::span<const at::Tensor> tensors, at::ScalarType compute_type);

}  // namespace submix::train
