#include "submix/model/testing/tiny_model.h"

#include <numeric>
#include <random>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/model/safetensors.h"

namespace submix::model {
namespace {

void CheckOk(const base::Status& status) { SUBMIX_CHECK(status.ok(), status.message().c_str()); }

std::vector<float> RandomValues(std::size_t count, double mean, double deviation,
                                std::mt19937_64& generator) {
  std::normal_distribution<double> normal(mean, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(normal(generator));
  return values;
}

struct TinyTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  double mean;
  double deviation;
};

std::vector<TinyTensor> TinyTensors(const DecoderConfig& config) {
  const std::int64_t width = config.width;
  std::vector<TinyTensor> tensors = {{"wte.weight", {config.vocab_size, width}, 0, 0.6},
                                     {"wpe.weight", {config.context_length, width}, 0, 0.3},
                                     {"ln_f.weight", {width}, 1, 0.2},
                                     {"ln_f.bias", {width}, 0, 0.2}};
  for (int layer = 0; layer < config.layers; ++layer) {
    const std::string prefix = "h." + std::to_string(layer) + ".";
    for (const char* norm : {"ln_1", "ln_2"}) {
      tensors.push_back({prefix + norm + ".weight", {width}, 1, 0.2});
      tensors.push_back({prefix + norm + ".bias", {width}, 0, 0.2});
    }
    const auto add_linear = [&](const char* name, std::int64_t in, std::int64_t out) {
      tensors.push_back({prefix + name + ".weight", {in * width, out * width}, 0, 0.3});
      tensors.push_back({prefix + name + ".bias", {out * width}, 0, 0.2});
    };
    add_linear("attn.c_attn", 1, 3);
    add_linear("attn.c_proj", 1, 1);
    add_linear("mlp.c_fc", 1, 4);
    add_linear("mlp.c_proj", 4, 1);
  }
  return tensors;
}

}  // namespace

DecoderConfig TinyConfig() {
  DecoderConfig config;
  config.vocab_size = 53;
  config.context_length = 24;
  config.width = 16;
  config.layers = 3;
  config.attention_heads = 2;
  config.end_of_text = 52;
  return config;
}

void WriteTinyModel(const std::string& directory, const DecoderConfig& config, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const std::vector<TinyTensor> tensors = TinyTensors(config);
  std::vector<std::vector<float>> values;
  std::vector<NamedTensor> named;
  for (const TinyTensor& tensor : tensors) {
    const std::int64_t count = std::accumulate(tensor.shape.begin(), tensor.shape.end(),
                                               std::int64_t{1}, std::multiplies<>());
    values.push_back(
        RandomValues(static_cast<std::size_t>(count), tensor.mean, tensor.deviation, generator));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    named.push_back({tensors[i].name, tensors[i].shape, values[i]});
  }
  CheckOk(base::MakeDirectories(directory));
  CheckOk(base::WriteFile(base::JoinPath(directory, "config.json"), DecoderConfigJson(config)));
  CheckOk(WriteSafetensors(base::JoinPath(directory, "model.safetensors"), named, Dtype::kF32, {}));
}

void WriteTinyAdapter(const std::string& directory, const DecoderConfig& model,
                      const LoraConfig& config, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  base::StatusOr<std::vector<LoraModule>> modules = AdaptedModules(model, config);
  CheckOk(modules.status());
  LoraAdapter adapter;
  adapter.config = config;
  adapter.modules = *std::move(modules);
  const auto rank = static_cast<std::size_t>(config.rank);
  for (LoraModule& module : adapter.modules) {
    module.a = RandomValues(rank * static_cast<std::size_t>(module.inputs), 0, 0.3, generator);
    module.b = RandomValues(rank * static_cast<std::size_t>(module.outputs), 0, 0.3, generator);
  }
  CheckOk(base::MakeDirectories(directory));
  CheckOk(SaveLoraAdapter(adapter, model, directory));
}

std::vector<base::TokenId> RandomTokens(std::size_t count, int vocab_size, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<base::TokenId> tokens(count);
  for (base::TokenId& token : tokens) {
    token = static_cast<base::TokenId>(generator() % static_cast<std::uint64_t>(vocab_size));
  }
  return tokens;
}

}  // namespace submix::model
