#include "submix/train/models/gpt_module.h"

#include "submix/train/models/fused_operations.h"

namespace submix::train {
namespace {

at::Tensor Norm(const at::Tensor& x, const NormWeights& norm, double norm_epsilon,
                at::ScalarType type) {
  return at::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, norm_epsilon).to(type);
}

const LoraFactors* FactorsOf(const LoraStack* adapters, int layer, int linear) {
  if (adapters == nullptr) return nullptr;
  const auto& factors =
      adapters->layers[static_cast<std::size_t>(layer)][static_cast<std::size_t>(linear)];
  return factors.has_value() ? &*factors : nullptr;
}

}  // namespace

at::Tensor EmbedFromStart(const GptWeights& weights, const at::Tensor& tokens) {
  const at::Tensor x =
      at::embedding(weights.wte, tokens) + weights.wpe.narrow(0, 0, tokens.size(1));
  return x.view({-1, weights.config.width});
}

at::Tensor TransformerLayer(const GptWeights& weights, int layer, const LoraStack* adapters,
                            const Attention& attend, const at::Tensor& x) {
  const LayerWeights& w = weights.layers[static_cast<std::size_t>(layer)];
  const double norm_epsilon = weights.config.norm_epsilon;
  const at::ScalarType type = weights.compute_type;
  const auto linear = [&](int index, const at::Tensor& input) {
    const LinearWeights& base = w.linears[static_cast<std::size_t>(index)];
    const LoraFactors* factors = FactorsOf(adapters, layer, index);
    if (factors == nullptr) return at::addmm(base.bias, input, base.weight);
    return AdaptedLinear(input, base, *factors, adapters->scaling);
  };
  at::Tensor a = linear(kAttentionIn, Norm(x, w.ln_1, norm_epsilon, type));
  a = linear(kAttentionOut, attend(a));
  const at::Tensor y = x + a;
  at::Tensor m = linear(kMlpIn, Norm(y, w.ln_2, norm_epsilon, type));
  m = linear(kMlpOut, Gelu(m));
  return y + m;
}

at::Tensor FinalNorm(const GptWeights& weights, const at::Tensor& x) {
  return Norm(x, weights.ln_f, weights.config.norm_epsilon, weights.unembedding.scalar_type());
}

at::Tensor HiddenStates(const GptWeights& weights, const LoraStack* adapters,
                        const at::Tensor& tokens) {
  const Attention attend = [&](const at::Tensor& qkv) {
    return CausalAttention(qkv, tokens.size(1), weights.config.attention_heads);
  };
  at::Tensor x = EmbedFromStart(weights, tokens);
  for (int layer = 0; layer < weights.config.layers; ++layer) {
    x = TransformerLayer(weights, layer, adapters, attend, x);
  }
  return FinalNorm(weights, x);
}

}  // namespace submix::train
