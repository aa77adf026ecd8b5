#include "submix/train/models/gpt_weights.h"

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/model/decoder_tensors.h"
#include "submix/model/safetensors.h"

namespace submix::train {
namespace {

constexpr std::string_view kPrefix = "transformer.";

std::string FullName(const model::SafetensorsFile& file, const std::string& name) {
  const std::string prefixed = std::string(kPrefix) + name;
  return file.tensors().contains(prefixed) ? prefixed : name;
}

}  // namespace

at::ScalarType ScalarTypeOf(Precision precision) {
  return precision == Precision::kBfloat16 ? torch::kBFloat16 : torch::kFloat;
}

base::StatusOr<PublicModel> LoadPublicModel(const std::string& directory) {
  PublicModel model;
  SUBMIX_ASSIGN_OR_RETURN(model.config,
                          model::LoadDecoderConfig(base::JoinPath(directory, "config.json")));
  if (model.config.family != "gpt2") {
    return base::UnimplementedError(directory + ": a " + model.config.family +
                                    " model is scored by `submix score`; trained are gpt2 models");
  }
  SUBMIX_ASSIGN_OR_RETURN(
      const std::unique_ptr<model::SafetensorsFile> file,
      model::SafetensorsFile::Open(base::JoinPath(directory, "model.safetensors")));
  for (const model::GptTensor& tensor : model::GptTensors(model.config)) {
    SUBMIX_ASSIGN_OR_RETURN(std::vector<float> values,
                            file->Read(FullName(*file, tensor.name), tensor.shape));
    model.tensors.push_back(torch::from_blob(values.data(), tensor.shape).clone());
  }
  return model;
}

base::Status SaveGptModel(const model::DecoderConfig& config, std::span<const float> values,
                          const std::string& directory) {
  const ParameterVectors vectors = GptVectors(config);
  SUBMIX_CHECK(vectors.back().end == values.size(), "values do not fit the model");
  std::vector<model::NamedTensor> tensors;
  for (const ParameterVector& vector : vectors) {
    tensors.push_back({std::string(kPrefix) + vector.name, vector.shape,
                       values.subspan(vector.begin, vector.size())});
  }
  SUBMIX_RETURN_IF_ERROR(model::WriteSafetensors(base::JoinPath(directory, "model.safetensors"),
                                                 tensors, model::Dtype::kF32, {{"format", "pt"}}));
  return model::SaveGptConfig(config, base::JoinPath(directory, "config.json"));
}

ParameterVectors GptVectors(const model::DecoderConfig& config) {
  ParameterVectors vectors;
  for (model::GptTensor& tensor : model::GptTensors(config)) {
    const bool is_matrix = tensor.shape.size() > 1;
    AppendVector(vectors, std::move(tensor.name), std::move(tensor.shape), /*decays=*/is_matrix);
  }
  return vectors;
}

GptWeights AssembleGptWeights(const model::DecoderConfig& config,
                              std::span<const at::Tensor> tensors, at::ScalarType compute_type) {
  GptWeights weights;
  weights.config = config;
  weights.compute_type = compute_type;
  auto next = tensors.begin();
  for (const model::GptTensor& tensor : model::GptTensors(config)) {
    SUBMIX_CHECK(next != tensors.end(), "tensors are missing");
    weights.tensors[tensor.name] = tensor.is_linear ? next->to(compute_type) : *next;
    ++next;
  }
  SUBMIX_CHECK(next == tensors.end(), "tensors left over");
  weights.unembedding = weights["wte.weight"].to(compute_type);
  return weights;
}

}  // namespace submix::train
