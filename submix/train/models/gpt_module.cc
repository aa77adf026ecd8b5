#include "submix/train/models/gpt_module.h"

namespace submix::train {

at::Tensor HiddenStates(const GptWeights& weights, const LoraStack& adapters,
                        const at::Tensor& tokens) {
  const model::DecoderConfig& config = weights.config;
  const at::ScalarType type = weights.compute_type;
  const auto norm = [&](const std::string& name, const at::Tensor& x, at::ScalarType to) {
    return at::layer_norm(x, {x.size(-1)}, weights[name + ".weight"], weights[name + ".bias"],
                          config.norm_epsilon)
        .to(to);
  };
  const auto linear = [&](const std::string& name, const at::Tensor& x) {
    const at::Tensor& weight = weights[name + ".weight"];
    const at::Tensor& bias = weights[name + ".bias"];
    const auto factors = adapters.factors.find(name);
    if (factors == adapters.factors.end()) return at::addmm(bias, x, weight);
    return AdaptedLinear(x, weight, bias, factors->second, adapters.scaling);
  };
  const std::int64_t positions = tokens.size(1);
  at::Tensor x =
      at::embedding(weights["wte.weight"], tokens) + weights["wpe.weight"].narrow(0, 0, positions);
  x = x.view({-1, config.width});
  for (int layer = 0; layer < config.layers; ++layer) {
    const std::string prefix = "h." + std::to_string(layer) + ".";
    const at::Tensor qkv = linear(prefix + "attn.c_attn", norm(prefix + "ln_1", x, type));
    x = x + linear(prefix + "attn.c_proj", CausalAttention(qkv, positions, config.attention_heads));
    const at::Tensor wide = linear(prefix + "mlp.c_fc", norm(prefix + "ln_2", x, type));
    x = x + linear(prefix + "mlp.c_proj", Gelu(wide));
  }
  return norm("ln_f", x, weights.unembedding.scalar_type());
}

}  // namespace submix::train
