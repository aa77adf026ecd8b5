// The weights of a decoder as tensors, by Hugging Face's names.
// Internal: includes torch.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <torch/types.h>

#include "submix/base/status.h"
#include "submix/model/decoder_config.h"
#include "submix/train/kernels/parameter_vectors.h"
#include "submix/train/recipes/precision.h"

namespace submix::train {

at::ScalarType ScalarTypeOf(Precision precision);

// A model as read from disk; the public one is shared by all members.
struct PublicModel {
  model::DecoderConfig config;
  std::string config_json;          // the text of its config.json
  std::vector<at::Tensor> tensors;  // in the order and the shapes of model::DecoderTensors
};

// Reads config.json and the weights, names with or without the family's prefix. Tensors are
// float32; matrices of a file in bfloat16 stay so for products in bfloat16: half the memory, the
// same numbers. Errors: those of LoadDecoderConfig, WeightFiles::Open, FindTensors, CheckNumbers.
base::StatusOr<PublicModel> LoadPublicModel(const std::string& directory, Precision precision);

// Writes the config.json of `like` and model.safetensors, in float32, into a directory that exists.
// `values` is flat in the order of WeightVectors.
base::Status SaveModel(const PublicModel& like, std::span<const float> values,
                       const std::string& directory);

// model::DecoderTensors one behind the other; matrices decay, vectors do not.
ParameterVectors WeightVectors(const model::DecoderConfig& config);

// What a pass multiplies with.
struct DecoderWeights {
  model::DecoderConfig config;
  at::ScalarType compute_type = torch::kFloat;  // of the linear layers
  // By name. Linear layers' weights are [inputs, outputs] in every family, perhaps as views; gains
  // of norms are whole, also where files have them less 1.
  std::map<std::string, at::Tensor> tensors;
  at::Tensor unembedding;  // [V, C], perhaps rounded

  const at::Tensor& operator[](const std::string& name) const { return tensors.at(name); }
  // None where the layer has none.
  c10::optional<at::Tensor> BiasOf(const std::string& layer) const;
};

// `tensors` are in the order of model::DecoderTensors; linear layers and the unembedding are
// converted to `compute_type` (differentiably), everything else stays as it is.
DecoderWeights AssembleWeights(const model::DecoderConfig& config,
                               std::span<const at::Tensor> tensors, at::ScalarType compute_type);

}  // namespace submix::train
