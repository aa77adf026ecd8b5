#include "submix/model/decoder_tensors.h"

#include "submix/base/check.h"

namespace submix::model {
namespace {

void AddNorm(const std::string& name, std::int64_t width, std::vector<GptTensor>& tensors) {
  tensors.push_back({name + ".weight", {width}, false});
  tensors.push_back({name + ".bias", {width}, false});
}

struct NamedLinear {
  const char* name;
  int inputs;
  int outputs;
};

std::vector<NamedLinear> LinearsOfALayer(const DecoderConfig& config) {
  const int width = config.width;
  const int mlp = config.width_of_mlp();
  const int queries = config.query_width();
  const int keys = config.key_width();
  if (HasConv1d(config)) {
    return {{"attn.c_attn", width, queries + 2 * keys},
            {"attn.c_proj", queries, width},
            {"mlp.c_fc", width, mlp},
            {"mlp.c_proj", mlp, width}};
  }
  return {{"self_attn.q_proj", width, queries}, {"self_attn.k_proj", width, keys},
          {"self_attn.v_proj", width, keys},    {"self_attn.o_proj", queries, width},
          {"mlp.gate_proj", width, mlp},        {"mlp.up_proj", width, mlp},
          {"mlp.down_proj", mlp, width}};
}

}  // namespace

bool HasConv1d(const DecoderConfig& config) { return config.family == "gpt2"; }

std::string ModelPrefix(const DecoderConfig& config) {
  return HasConv1d(config) ? "transformer." : "model.";
}

std::string LayerPrefix(const DecoderConfig& config, int layer) {
  return (HasConv1d(config) ? "h." : "layers.") + std::to_string(layer) + ".";
}

std::vector<LinearLayer> LinearLayers(const DecoderConfig& config) {
  std::vector<LinearLayer> layers;
  for (int layer = 0; layer < config.layers; ++layer) {
    for (const NamedLinear& linear : LinearsOfALayer(config)) {
      layers.push_back(
          {LayerPrefix(config, layer) + linear.name, layer, linear.inputs, linear.outputs});
    }
  }
  return layers;
}

std::vector<GptTensor> GptTensors(const DecoderConfig& config) {
  SUBMIX_CHECK(HasConv1d(config), "the tensors of a GPT-2");
  const std::int64_t width = config.width;
  std::vector<GptTensor> tensors = {{"wte.weight", {config.vocab_size, width}, false},
                                    {"wpe.weight", {config.context_length, width}, false}};
  for (const LinearLayer& linear : LinearLayers(config)) {
    const std::string prefix = LayerPrefix(config, linear.layer);
    if (linear.name == prefix + "attn.c_attn") AddNorm(prefix + "ln_1", width, tensors);
    if (linear.name == prefix + "mlp.c_fc") AddNorm(prefix + "ln_2", width, tensors);
    tensors.push_back({linear.name + ".weight", {linear.inputs, linear.outputs}, true});
    tensors.push_back({linear.name + ".bias", {linear.outputs}, true});
  }
  AddNorm("ln_f", width, tensors);
  return tensors;
}

}  // namespace submix::model
