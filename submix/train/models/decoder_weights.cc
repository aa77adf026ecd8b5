#include "submix/train/models/decoder_weights.h"

#include <cstring>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/model/decoder_tensors.h"
#include "submix/model/safetensors.h"
#include "submix/model/weight_files.h"

namespace submix::train {
namespace {

at::Tensor TensorOf(const model::TensorView& view, Precision precision) {
  const bool stays = view.dtype == model::Dtype::kBf16 && view.shape.size() > 1 &&
                     precision == Precision::kBfloat16;
  at::Tensor tensor = at::empty(view.shape, stays ? torch::kBFloat16 : torch::kFloat);
  if (stays) {
    std::memcpy(tensor.data_ptr(), view.bytes.data(), view.bytes.size());
  } else {
    model::ConvertToFloat(
        view, {tensor.data_ptr<float>(), static_cast<std::size_t>(view.num_elements())});
  }
  return tensor;
}

}  // namespace

at::ScalarType ScalarTypeOf(Precision precision) {
  return precision == Precision::kBfloat16 ? torch::kBFloat16 : torch::kFloat;
}

base::StatusOr<PublicModel> LoadPublicModel(const std::string& directory, Precision precision) {
  PublicModel loaded;
  const std::string config_path = base::JoinPath(directory, "config.json");
  SUBMIX_ASSIGN_OR_RETURN(loaded.config, model::LoadDecoderConfig(config_path));
  SUBMIX_ASSIGN_OR_RETURN(loaded.config_json, base::ReadFile(config_path));
  SUBMIX_ASSIGN_OR_RETURN(const auto files, model::WeightFiles::Open(directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto views, model::FindTensors(loaded.config, *files));
  SUBMIX_RETURN_IF_ERROR(model::CheckNumbers(loaded.config, *files));
  for (const model::TensorView& view : views) loaded.tensors.push_back(TensorOf(view, precision));
  return loaded;
}

base::Status SaveModel(const PublicModel& like, std::span<const float> values,
                       const std::string& directory) {
  const ParameterVectors vectors = WeightVectors(like.config);
  SUBMIX_CHECK(vectors.back().end == values.size(), "values do not fit the model");
  std::vector<model::NamedTensor> tensors;
  std::size_t next = 0;
  for (const model::DecoderTensor& tensor : model::DecoderTensors(like.config)) {
    const ParameterVector& vector = vectors[next++];
    tensors.push_back({model::FullName(like.config, tensor), tensor.shape,
                       values.subspan(vector.begin, vector.size())});
  }
  SUBMIX_RETURN_IF_ERROR(model::WriteSafetensors(base::JoinPath(directory, "model.safetensors"),
                                                 tensors, model::Dtype::kF32, {{"format", "pt"}}));
  return base::WriteFile(base::JoinPath(directory, "config.json"),
                         model::ConfigOfFloats(like.config_json));
}

ParameterVectors WeightVectors(const model::DecoderConfig& config) {
  ParameterVectors vectors;
  for (model::DecoderTensor& tensor : model::DecoderTensors(config)) {
    const bool is_matrix = tensor.shape.size() > 1;
    AppendVector(vectors, std::move(tensor.name), std::move(tensor.shape), /*decays=*/is_matrix);
  }
  return vectors;
}

c10::optional<at::Tensor> DecoderWeights::BiasOf(const std::string& layer) const {
  const auto found = tensors.find(layer + ".bias");
  if (found == tensors.end()) return c10::nullopt;
  return found->second;
}

DecoderWeights AssembleWeights(const model::DecoderConfig& config,
                               std::span<const at::Tensor> tensors, at::ScalarType compute_type) {
  DecoderWeights weights;
  weights.config = config;
  weights.compute_type = compute_type;
  auto next = tensors.begin();
  for (const model::DecoderTensor& tensor : model::DecoderTensors(config)) {
    SUBMIX_CHECK(next != tensors.end(), "tensors are missing");
    at::Tensor& assembled = weights.tensors[tensor.name] = *next++;
    if (tensor.is_linear) {
      assembled = assembled.to(compute_type);
      if (tensor.shape.size() == 2 && !model::HasConv1d(config)) assembled = assembled.t();
    } else if (tensor.shape.size() == 1 && config.norm == model::Norm::kRmsOnePlus) {
      assembled = assembled + 1;
    }
  }
  SUBMIX_CHECK(next == tensors.end(), "tensors left over");
  weights.unembedding = weights[model::NamesOf(config).unembedding + ".weight"].to(compute_type);
  return weights;
}

}  // namespace submix::train
