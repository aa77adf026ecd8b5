#include "submix/train/models/decoder_module.h"

#include "submix/model/decoder_tensors.h"

namespace submix::train {
namespace {

class DecoderPass {
 public:
  DecoderPass(const DecoderWeights& weights, const LoraStack& adapters, std::int64_t positions)
      : weights_(weights),
        config_(weights.config),
        adapters_(adapters),
        positions_(positions),
        names_(model::NamesOf(config_)) {
    if (config_.has_learned_positions) return;
    turns_ = RotaryTurns(config_.rotary, config_.width_of_head(), positions);
    windowed_turns_ =
        config_.windowed_rotary == config_.rotary
            ? turns_
            : RotaryTurns(config_.windowed_rotary, config_.width_of_head(), positions);
  }

  at::Tensor Run(const at::Tensor& tokens) const {
    at::Tensor x = Embed(tokens);
    for (int layer = 0; layer < config_.layers; ++layer) {
      const std::string prefix = model::LayerPrefix(config_, layer);
      const model::LayerLinears linears = model::LinearsOfLayer(config_, layer);
      const at::Tensor attended = Attend(layer, linears, Normed(prefix + names_.norm_1, x));
      x = x + Outcome(prefix + model::kNormAfterAttention, attended);
      const at::Tensor fed = FeedForward(linears, Normed(prefix + names_.norm_2, x));
      x = x + Outcome(prefix + model::kNormAfterMlp, fed);
    }
    return Norm(names_.final_norm, x).to(weights_.unembedding.scalar_type());
  }

 private:
  at::Tensor Embed(const at::Tensor& tokens) const {
    at::Tensor x =
        at::embedding(weights_[names_.token_embedding + ".weight"], tokens).to(torch::kFloat);
    if (config_.embedding_scale != 1) x = x * config_.embedding_scale;
    if (config_.has_learned_positions) {
      x = x + weights_[model::kPositionEmbedding].narrow(0, 0, positions_);
    }
    return x.view({-1, config_.width});
  }

  at::Tensor Norm(const std::string& name, const at::Tensor& x) const {
    const at::Tensor& gain = weights_[name + ".weight"];
    if (config_.norm == model::Norm::kLayer) {
      return at::layer_norm(x, {x.size(-1)}, gain, weights_[name + ".bias"], config_.norm_epsilon);
    }
    return x * at::rsqrt(x.square().mean(-1, /*keepdim=*/true) + config_.norm_epsilon) * gain;
  }

  // What linear layers read.
  at::Tensor Normed(const std::string& name, const at::Tensor& x) const {
    return Norm(name, x).to(weights_.compute_type);
  }

  // What a block adds to the residual stream.
  at::Tensor Outcome(const std::string& norm, const at::Tensor& y) const {
    return config_.has_norms_after_blocks ? Norm(norm, y.to(torch::kFloat)) : y;
  }

  at::Tensor Linear(const model::LinearLayer& layer, const at::Tensor& x) const {
    const at::Tensor& weight = weights_[layer.name + ".weight"];
    const c10::optional<at::Tensor> bias = weights_.BiasOf(layer.name);
    const auto factors = adapters_.factors.find(layer.name);
    if (factors == adapters_.factors.end()) return LinearRows(x, weight, bias);
    return AdaptedLinear(x, weight, bias, factors->second, adapters_.scaling);
  }

  at::Tensor HeadNorm(const std::string& name, const at::Tensor& x) const {
    return Norm(name, x.view({x.size(0), -1, config_.width_of_head()})).view(x.sizes());
  }

  // Of all heads side by side, [N, query width + 2 key width].
  at::Tensor QueriesKeysValues(int layer, const model::LayerLinears& linears,
                               const at::Tensor& x) const {
    if (linears.attention_in.size() == 1) return Linear(linears.attention_in[0], x);
    at::Tensor queries = Linear(linears.attention_in[0], x).to(torch::kFloat);
    at::Tensor keys = Linear(linears.attention_in[1], x).to(torch::kFloat);
    const at::Tensor values = Linear(linears.attention_in[2], x).to(torch::kFloat);
    if (config_.has_query_key_norms) {
      const std::string prefix = model::LayerPrefix(config_, layer);
      queries = HeadNorm(prefix + model::kQueryNorm, queries);
      keys = HeadNorm(prefix + model::kKeyNorm, keys);
    }
    const at::Tensor all = at::cat({queries, keys, values}, 1);
    if (config_.has_learned_positions) return all;
    return TurnHeads(all, config_.is_windowed(layer) ? windowed_turns_ : turns_,
                     config_.attention_heads + config_.num_key_value_heads());
  }

  at::Tensor Attend(int layer, const model::LayerLinears& linears, const at::Tensor& x) const {
    const AttentionShape shape = {.positions = positions_,
                                  .query_heads = config_.attention_heads,
                                  .key_value_heads = config_.num_key_value_heads(),
                                  .scale = config_.scale_of_scores(),
                                  .soft_cap = static_cast<float>(config_.attention_soft_cap),
                                  .window = config_.is_windowed(layer) ? config_.window : 0};
    const at::Tensor attended = CausalAttention(QueriesKeysValues(layer, linears, x), shape);
    return Linear(linears.attention_out, attended.to(weights_.compute_type));
  }

  at::Tensor FeedForward(const model::LayerLinears& linears, const at::Tensor& x) const {
    const at::Tensor first = Linear(linears.mlp_in[0], x);
    const bool is_silu = config_.activation == model::Activation::kSilu;
    at::Tensor wide = is_silu ? at::silu(first) : Gelu(first);
    if (config_.is_gated) wide = wide * Linear(linears.mlp_in[1], x);
    return Linear(linears.mlp_out, wide);
  }

  const DecoderWeights& weights_;
  const model::DecoderConfig& config_;
  const LoraStack& adapters_;
  const std::int64_t positions_;
  const model::DecoderNames names_;
  at::Tensor turns_;
  at::Tensor windowed_turns_;
};

}  // namespace

at::Tensor HiddenStates(const DecoderWeights& weights, const LoraStack& adapters,
                        const at::Tensor& tokens) {
  return DecoderPass(weights, adapters, tokens.size(1)).Run(tokens);
}

at::Tensor RotaryTurns(const model::Rotary& rotary, int head_width, std::int64_t positions) {
  const std::vector<double> frequencies = model::RotaryFrequencies(rotary, head_width);
  const at::Tensor angles = at::outer(torch::arange(positions, torch::kDouble),
                                      torch::tensor(frequencies, torch::kDouble));
  return at::cat({angles.cos(), angles.sin()}, 1).to(torch::kFloat);
}

}  // namespace submix::train
