#include "submix/train/models/gpt_weights.h"

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/model/safetensors.h"

namespace submix::train {
namespace {

constexpr std::string_view kPrefix = "transformer.";

std::string FullName(const model::SafetensorsFile& file, const std::string& name) {
  const std::string prefixed = std::string(kPrefix) + name;
  return file.tensors().contains(prefixed) ? prefixed : name;
}

std::int64_t NumElements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

// Hands out the tensors in the order of GptTensorSpecs.
class TensorCursor {
 public:
  explicit TensorCursor(std::span<const at::Tensor> tensors) : tensors_(tensors) {}

  at::Tensor Next() { return tensors_[next_++]; }
  NormWeights NextNorm() {
    NormWeights norm;
    norm.weight = Next();
    norm.bias = Next();
    return norm;
  }
  LinearWeights NextLinear(at::ScalarType type) {
    LinearWeights linear;
    linear.weight = Next().to(type);
    linear.bias = Next().to(type);
    return linear;
  }
  bool done() const { return next_ == tensors_.size(); }

 private:
  std::span<const at::Tensor> tensors_;
  std::size_t next_ = 0;
};

}  // namespace

const char* LinearName(int linear) {
  static constexpr std::array<const char*, kLinearsPerLayer> kNames = {"attn.c_attn", "attn.c_proj",
                                                                       "mlp.c_fc", "mlp.c_proj"};
  return kNames[static_cast<std::size_t>(linear)];
}

std::vector<FlatParameters::Spec> GptTensorSpecs(const model::GptConfig& config) {
  const std::int64_t width = config.width;
  std::vector<FlatParameters::Spec> specs;
  const auto add_norm = [&](const std::string& name) {
    specs.push_back({name + ".weight", {width}, /*decays=*/false});
    specs.push_back({name + ".bias", {width}, /*decays=*/false});
  };
  const auto add_linear = [&](const std::string& name, std::int64_t in, std::int64_t out) {
    specs.push_back({name + ".weight", {in * width, out * width}, /*decays=*/true});
    specs.push_back({name + ".bias", {out * width}, /*decays=*/false});
  };
  specs.push_back({"wte.weight", {config.vocab_size, width}, /*decays=*/true});
  specs.push_back({"wpe.weight", {config.context_length, width}, /*decays=*/true});
  for (int layer = 0; layer < config.layers; ++layer) {
    const std::string prefix = "h." + std::to_string(layer) + ".";
    add_norm(prefix + "ln_1");
    add_linear(prefix + LinearName(kAttentionIn), 1, 3);
    add_linear(prefix + LinearName(kAttentionOut), 1, 1);
    add_norm(prefix + "ln_2");
    add_linear(prefix + LinearName(kMlpIn), 1, 4);
    add_linear(prefix + LinearName(kMlpOut), 4, 1);
  }
  add_norm("ln_f");
  return specs;
}

GptWeights AssembleGptWeights(const model::GptConfig& config, std::span<const at::Tensor> tensors,
                              at::ScalarType compute_type) {
  TensorCursor cursor(tensors);
  GptWeights weights;
  weights.config = config;
  weights.compute_type = compute_type;
  weights.wte = cursor.Next();
  weights.unembedding = weights.wte.to(compute_type);
  weights.wpe = cursor.Next();
  for (int i = 0; i < config.layers; ++i) {
    LayerWeights layer;
    layer.ln_1 = cursor.NextNorm();
    layer.linears[kAttentionIn] = cursor.NextLinear(compute_type);
    layer.linears[kAttentionOut] = cursor.NextLinear(compute_type);
    layer.ln_2 = cursor.NextNorm();
    layer.linears[kMlpIn] = cursor.NextLinear(compute_type);
    layer.linears[kMlpOut] = cursor.NextLinear(compute_type);
    weights.layers.push_back(std::move(layer));
  }
  weights.ln_f = cursor.NextNorm();
  SUBMIX_CHECK(cursor.done(), "tensors left over");
  return weights;
}

base::StatusOr<std::vector<at::Tensor>> LoadGptTensors(const std::string& directory,
                                                       const model::GptConfig& config) {
  SUBMIX_ASSIGN_OR_RETURN(
      const std::unique_ptr<model::SafetensorsFile> file,
      model::SafetensorsFile::Open(base::JoinPath(directory, "model.safetensors")));
  std::vector<at::Tensor> tensors;
  for (const FlatParameters::Spec& spec : GptTensorSpecs(config)) {
    SUBMIX_ASSIGN_OR_RETURN(std::vector<float> values,
                            file->Read(FullName(*file, spec.name), spec.shape));
    tensors.push_back(torch::from_blob(values.data(), spec.shape).clone());
  }
  return tensors;
}

base::StatusOr<GptWeights> LoadGptWeights(const std::string& directory,
                                          at::ScalarType compute_type) {
  SUBMIX_ASSIGN_OR_RETURN(const model::GptConfig config,
                          model::LoadGptConfig(base::JoinPath(directory, "config.json")));
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<at::Tensor> tensors, LoadGptTensors(directory, config));
  return AssembleGptWeights(config, tensors, compute_type);
}

base::Status SaveGptModel(const model::GptConfig& config, std::span<const float> values,
                          const std::string& directory) {
  std::vector<model::NamedTensor> tensors;
  std::size_t begin = 0;
  for (const FlatParameters::Spec& spec : GptTensorSpecs(config)) {
    const auto count = static_cast<std::size_t>(NumElements(spec.shape));
    tensors.push_back({std::string(kPrefix) + spec.name, spec.shape, values.subspan(begin, count)});
    begin += count;
  }
  SUBMIX_CHECK(begin == values.size(), "values do not fit the model");
  SUBMIX_RETURN_IF_ERROR(model::WriteSafetensors(base::JoinPath(directory, "model.safetensors"),
                                                 tensors, model::Dtype::kF32, {{"format", "pt"}}));
  return model::SaveGptConfig(config, base::JoinPath(directory, "config.json"));
}

}  // namespace submix::train
