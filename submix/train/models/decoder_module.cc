#include "submix/train/models/decoder_module.h"

#include "submix/model/decoder_tensors.h"
#include "submix/train/models/row_operations.h"

namespace submix::train {
namespace {

// The residual stream, float32. What was last added to it is added when the next norm reads it.
class ResidualStream {
 public:
  explicit ResidualStream(at::Tensor x) : x_(std::move(x)) {}

  // y is float32 or in the products' type. Requires: a norm was read since the last addition.
  void Add(at::Tensor y) { added_ = std::move(y); }

  at::Tensor Sum() const { return added_.defined() ? x_ + added_ : x_; }

  at::Tensor Normed(const NormWeights& weights, at::ScalarType type) {
    if (!added_.defined()) return NormRows(x_, weights, type);
    SumAndNorm both = AddAndNormRows(x_, added_, weights, type);
    x_ = std::move(both.sum);
    added_.reset();
    return both.normed;
  }

 private:
  at::Tensor x_;
  at::Tensor added_;
};

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

  at::Tensor Embed(const at::Tensor& tokens) const {
    at::Tensor x =
        at::embedding(weights_[names_.token_embedding + ".weight"], tokens).to(torch::kFloat);
    if (config_.embedding_scale != 1) x = x * config_.embedding_scale;
    if (config_.has_learned_positions) {
      x = x + weights_[model::kPositionEmbedding].narrow(0, 0, positions_);
    }
    return x.view({-1, config_.width});
  }

  // Layers [begin, end).
  void Layers(int begin, int end, ResidualStream& x) const {
    for (int layer = begin; layer < end; ++layer) {
      const std::string prefix = model::LayerPrefix(config_, layer);
      const model::LayerLinears linears = model::LinearsOfLayer(config_, layer);
      const at::Tensor attended = Attend(layer, linears, Normed(prefix + names_.norm_1, x));
      x.Add(Outcome(prefix + model::kNormAfterAttention, attended));
      const at::Tensor fed = FeedForward(linears, Normed(prefix + names_.norm_2, x));
      x.Add(Outcome(prefix + model::kNormAfterMlp, fed));
    }
  }

  // From layer `begin` on, what the unembedding multiplies.
  at::Tensor LastFrom(int begin, at::Tensor states) const {
    ResidualStream x(std::move(states));
    Layers(begin, config_.layers, x);
    return x.Normed(Norm(names_.final_norm), weights_.unembedding.scalar_type());
  }

 private:
  NormWeights Norm(const std::string& name) const {
    return {.gain = weights_[name + ".weight"],
            .shift = weights_.BiasOf(name),
            .epsilon = config_.norm_epsilon,
            .centres = config_.norm == model::Norm::kLayer};
  }

  // What linear layers read.
  at::Tensor Normed(const std::string& name, ResidualStream& x) const {
    return x.Normed(Norm(name), weights_.compute_type);
  }

  // What a block adds to the residual stream.
  at::Tensor Outcome(const std::string& norm, const at::Tensor& y) const {
    return config_.has_norms_after_blocks ? NormRows(y, Norm(norm), torch::kFloat) : y;
  }

  at::Tensor Linear(const model::LinearLayer& layer, const at::Tensor& x) const {
    const at::Tensor& weight = weights_[layer.name + ".weight"];
    const c10::optional<at::Tensor> bias = weights_.BiasOf(layer.name);
    const auto factors = adapters_.factors.find(layer.name);
    if (factors == adapters_.factors.end()) return LinearRows(x, weight, bias);
    return AdaptedLinear(x, weight, bias, factors->second, adapters_.scaling);
  }

  at::Tensor HeadNorm(const std::string& name, const at::Tensor& x) const {
    const at::Tensor heads = x.view({x.size(0), -1, config_.width_of_head()});
    return NormRows(heads, Norm(name), torch::kFloat).view(x.sizes());
  }

  // Of all heads side by side, [N, query width + 2 key width].
  at::Tensor QueriesKeysValues(int layer, const model::LayerLinears& linears,
                               const at::Tensor& x) const {
    if (linears.attention_in.size() == 1) return Linear(linears.attention_in[0], x);
    at::Tensor queries = Linear(linears.attention_in[0], x);
    at::Tensor keys = Linear(linears.attention_in[1], x);
    const at::Tensor values = Linear(linears.attention_in[2], x);
    if (config_.has_query_key_norms) {
      const std::string prefix = model::LayerPrefix(config_, layer);
      queries = HeadNorm(prefix + model::kQueryNorm, queries);
      keys = HeadNorm(prefix + model::kKeyNorm, keys);
    }
    return JoinHeads(queries, keys, values, config_.is_windowed(layer) ? windowed_turns_ : turns_);
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
    c10::optional<at::Tensor> factor;
    if (config_.is_gated) factor = Linear(linears.mlp_in[1], x);
    const at::Tensor wide =
        Activate(config_.activation == model::Activation::kSilu ? RowActivation::kSilu
                                                                : RowActivation::kGelu,
                 first, factor);
    return Linear(linears.mlp_out, wide);
  }

  const DecoderWeights& weights_;
  const model::DecoderConfig& config_;
  const LoraStack& adapters_;
  const std::int64_t positions_;
  const model::DecoderNames names_;
  c10::optional<at::Tensor> turns_;  // none with learned positions
  c10::optional<at::Tensor> windowed_turns_;
};

}  // namespace

at::Tensor HiddenStates(const DecoderWeights& weights, const LoraStack& adapters,
                        const at::Tensor& tokens) {
  const DecoderPass pass(weights, adapters, tokens.size(1));
  return pass.LastFrom(0, pass.Embed(tokens));
}

at::Tensor StatesBelow(const DecoderWeights& weights, int layer, const at::Tensor& tokens) {
  const at::NoGradGuard no_gradients;
  const LoraStack no_adapters;
  const DecoderPass pass(weights, no_adapters, tokens.size(1));
  ResidualStream x(pass.Embed(tokens));
  pass.Layers(0, layer, x);
  return x.Sum();
}

at::Tensor HiddenStatesFrom(const DecoderWeights& weights, const LoraStack& adapters, int layer,
                            const at::Tensor& states, std::int64_t positions) {
  const DecoderPass pass(weights, adapters, positions);
  return pass.LastFrom(layer, states);
}

at::Tensor RotaryTurns(const model::Rotary& rotary, int head_width, std::int64_t positions) {
  const std::vector<double> frequencies = model::RotaryFrequencies(rotary, head_width);
  const at::Tensor angles = at::outer(torch::arange(positions, torch::kDouble),
                                      torch::tensor(frequencies, torch::kDouble));
  return at::cat({angles.cos(), angles.sin()}, 1).to(torch::kFloat);
}

}  // namespace submix::train
