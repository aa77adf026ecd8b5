#include "submix/model/gpt_tensors.h"

namespace submix::model {
namespace {

std::string LayerPrefix(int layer) { return "h." + std::to_string(layer) + "."; }

void AddNorm(const std::string& name, std::int64_t width, std::vector<GptTensor>& tensors) {
  tensors.push_back({name + ".weight", {width}, false});
  tensors.push_back({name + ".bias", {width}, false});
}

}  // namespace

std::vector<LinearLayer> LinearLayers(const GptConfig& config) {
  const int width = config.width;
  std::vector<LinearLayer> layers;
  for (int layer = 0; layer < config.layers; ++layer) {
    const std::string prefix = LayerPrefix(layer);
    layers.push_back({prefix + "attn.c_attn", layer, width, 3 * width});
    layers.push_back({prefix + "attn.c_proj", layer, width, width});
    layers.push_back({prefix + "mlp.c_fc", layer, width, 4 * width});
    layers.push_back({prefix + "mlp.c_proj", layer, 4 * width, width});
  }
  return layers;
}

std::vector<GptTensor> GptTensors(const GptConfig& config) {
  const std::int64_t width = config.width;
  std::vector<GptTensor> tensors = {{"wte.weight", {config.vocab_size, width}, false},
                                    {"wpe.weight", {config.context_length, width}, false}};
  for (const LinearLayer& linear : LinearLayers(config)) {
    const std::string prefix = LayerPrefix(linear.layer);
    if (linear.name == prefix + "attn.c_attn") AddNorm(prefix + "ln_1", width, tensors);
    if (linear.name == prefix + "mlp.c_fc") AddNorm(prefix + "ln_2", width, tensors);
    tensors.push_back({linear.name + ".weight", {linear.inputs, linear.outputs}, true});
    tensors.push_back({linear.name + ".bias", {linear.outputs}, true});
  }
  AddNorm("ln_f", width, tensors);
  return tensors;
}

}  // namespace submix::model
