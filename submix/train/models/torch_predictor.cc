#include "submix/train/models/torch_predictor.h"

#include <algorithm>
#include <limits>
#include <map>

#include <torch/types.h>

#include "submix/ensemble/predictor_checks.h"
#include "submix/model/decoder_tensors.h"
#include "submix/model/lora_adapter.h"
#include "submix/train/models/decoder_module.h"
#include "submix/train/numerics/torch_environment.h"
#include "submix/train/numerics/torch_errors.h"

namespace submix::train {
namespace {

using ensemble::SequenceId;

// Positions whose logits exist at a time in Score.
constexpr std::int64_t kPositionsAtATime = 16;

// The public model or a member: weights, and an adapter over them if it has one.
class ReferenceModel {
 public:
  explicit ReferenceModel(DecoderWeights weights)
      : weights_(std::move(weights)), names_(model::NamesOf(config())) {}

  void Adapt(const model::LoraAdapter& adapter) {
    const std::int64_t rank = adapter.config.rank;
    scaling_ = adapter.scaling();
    for (const model::LoraModule& module : adapter.modules) {
      adapter_[module.name] = {
          torch::tensor(module.a).view({rank, module.inputs}).to(weights_.compute_type),
          torch::tensor(module.b).view({module.outputs, rank}).to(weights_.compute_type)};
    }
  }

  const model::DecoderConfig& config() const { return weights_.config; }

  // [T] token ids to what the unembedding multiplies, [T, C].
  at::Tensor HiddenStates(const at::Tensor& tokens) const {
    at::Tensor x = weights_[names_.token_embedding + ".weight"].index_select(0, tokens) *
                   config().embedding_scale;
    if (config().has_learned_positions) {
      x = x + weights_[model::kPositionEmbedding].narrow(0, 0, tokens.size(0));
    }
    for (int layer = 0; layer < config().layers; ++layer) {
      const std::string prefix = model::LayerPrefix(config(), layer);
      x = x + AfterBlock(prefix + model::kNormAfterAttention,
                         Attend(layer, Norm(prefix + names_.norm_1, x)));
      x = x + AfterBlock(prefix + model::kNormAfterMlp,
                         FeedForward(layer, Norm(prefix + names_.norm_2, x)));
    }
    return Norm(names_.final_norm, x);
  }

  // In float32: logits rounded to bfloat16 would show. [N, C] to [N, V].
  at::Tensor Logits(const at::Tensor& hidden) const {
    return Capped(at::matmul(hidden, weights_.unembedding.t()), config().logit_soft_cap);
  }

 private:
  struct Factors {
    at::Tensor a;  // [rank, inputs]
    at::Tensor b;  // [outputs, rank]
  };

  static at::Tensor Capped(const at::Tensor& x, double cap) {
    return cap > 0 ? cap * at::tanh(x / cap) : x;
  }

  // Over the last dimension: rows, or heads of rows.
  at::Tensor Norm(const std::string& name, const at::Tensor& x) const {
    const at::Tensor& gain = weights_[name + ".weight"];
    if (config().norm == model::Norm::kLayer) {
      return at::layer_norm(x, {x.size(-1)}, gain, weights_[name + ".bias"], config().norm_epsilon);
    }
    return x / at::sqrt(at::mean(x * x, -1, /*keepdim=*/true) + config().norm_epsilon) * gain;
  }

  at::Tensor AfterBlock(const std::string& name, const at::Tensor& x) const {
    return config().has_norms_after_blocks ? Norm(name, x) : x;
  }

  // In the precision of the linear layers; back in float32.
  at::Tensor Linear(const model::LinearLayer& layer, const at::Tensor& input) const {
    const at::Tensor x = input.to(weights_.compute_type);
    at::Tensor y = at::matmul(x, weights_[layer.name + ".weight"]);
    if (const auto bias = weights_.BiasOf(layer.name)) y = y + *bias;
    if (const auto found = adapter_.find(layer.name); found != adapter_.end()) {
      const Factors& factors = found->second;
      y = y + at::matmul(at::matmul(x, factors.a.t()), factors.b.t()) * scaling_;
    }
    return y.to(torch::kFloat);
  }

  // Queries, keys and values, [T, heads, head width] each.
  std::vector<at::Tensor> QueriesKeysValues(int layer, const at::Tensor& x) const {
    const model::LayerLinears linears = model::LinearsOfLayer(config(), layer);
    std::vector<at::Tensor> parts;
    for (const model::LinearLayer& linear : linears.attention_in) {
      parts.push_back(Linear(linear, x));
    }
    if (parts.size() == 1) parts = parts[0].chunk(3, 1);
    for (at::Tensor& part : parts) part = part.view({x.size(0), -1, config().width_of_head()});
    const std::string prefix = model::LayerPrefix(config(), layer);
    if (config().has_query_key_norms) {
      parts[0] = Norm(prefix + model::kQueryNorm, parts[0]);
      parts[1] = Norm(prefix + model::kKeyNorm, parts[1]);
    }
    if (!config().has_learned_positions) {
      const model::Rotary& rotary =
          config().is_windowed(layer) ? config().windowed_rotary : config().rotary;
      const at::Tensor turns = RotaryTurns(rotary, config().width_of_head(), x.size(0));
      for (at::Tensor* part : {&parts[0], &parts[1]}) *part = Turned(*part, turns.unsqueeze(1));
    }
    return parts;
  }

  static at::Tensor Turned(const at::Tensor& heads, const at::Tensor& turns) {
    const auto half = heads.chunk(2, 2);
    const auto turn = turns.chunk(2, 2);  // cosines and sines
    return at::cat({half[0] * turn[0] - half[1] * turn[1], half[1] * turn[0] + half[0] * turn[1]},
                   2);
  }

  at::Tensor Attend(int layer, const at::Tensor& x) const {
    const std::int64_t positions = x.size(0);
    const std::int64_t queries_a_key = config().attention_heads / config().num_key_value_heads();
    std::vector<at::Tensor> heads = QueriesKeysValues(layer, x);
    for (at::Tensor& part : heads) part = part.transpose(0, 1);  // [heads, T, d]
    const at::Tensor keys = heads[1].repeat_interleave(queries_a_key, 0);
    const at::Tensor values = heads[2].repeat_interleave(queries_a_key, 0);
    at::Tensor hidden = torch::ones({positions, positions}, torch::kBool).triu(1);
    if (config().is_windowed(layer)) {
      hidden = hidden.logical_or(torch::ones_like(hidden).tril(-config().window));
    }
    const at::Tensor scores =
        Capped(at::matmul(heads[0], keys.transpose(1, 2)) * config().scale_of_scores(),
               config().attention_soft_cap)
            .masked_fill(hidden, -std::numeric_limits<float>::infinity());
    const at::Tensor attended =
        at::matmul(at::softmax(scores, 2), values).transpose(0, 1).reshape({positions, -1});
    return Linear(model::LinearsOfLayer(config(), layer).attention_out, attended);
  }

  at::Tensor FeedForward(int layer, const at::Tensor& x) const {
    const model::LayerLinears linears = model::LinearsOfLayer(config(), layer);
    const at::Tensor first = Linear(linears.mlp_in[0], x);
    at::Tensor wide =
        config().activation == model::Activation::kSilu ? at::silu(first) : at::gelu(first, "tanh");
    if (config().is_gated) wide = wide * Linear(linears.mlp_in[1], x);
    return Linear(linears.mlp_out, wide);
  }

  DecoderWeights weights_;
  model::DecoderNames names_;
  std::map<std::string, Factors> adapter_;  // by linear layer
  double scaling_ = 1;
};

at::Tensor TensorOf(std::span<const base::TokenId> tokens) {
  return torch::tensor(std::vector<std::int64_t>(tokens.begin(), tokens.end()));
}

class Impl final : public TorchPredictor {
 public:
  Impl(std::vector<ReferenceModel> models, int vocab_size)
      : models_(std::move(models)),
        vocab_size_(vocab_size > 0 ? std::min(vocab_size, models_.front().config().vocab_size)
                                   : models_.front().config().vocab_size) {}

  int num_members() const override { return static_cast<int>(models_.size()) - 1; }
  int vocab_size() const override { return vocab_size_; }
  int context_length() const override { return models_.front().config().context_length; }

  SequenceId Open() override {
    sequences_[++last_sequence_];
    return last_sequence_;
  }

  void Close(SequenceId sequence) override { sequences_.erase(sequence); }

  base::Status Step(std::span<const Append> appends, std::span<float> logits) override {
    SUBMIX_RETURN_IF_ERROR(ensemble::CheckAppends(
        *this, appends, logits.size(), [this](SequenceId sequence) { return LengthOf(sequence); }));
    return CatchTorchErrors([&] { return CheckedStep(appends, logits); });
  }

  base::Status Score(std::span<const base::TokenId> tokens, std::size_t first,
                     const PositionSink& sink) override {
    SUBMIX_RETURN_IF_ERROR(ensemble::CheckDocument(*this, tokens, first));
    return CatchTorchErrors([&] { return CheckedScore(tokens, first, sink); });
  }

 private:
  std::int64_t LengthOf(SequenceId sequence) const {
    const auto found = sequences_.find(sequence);
    return found == sequences_.end() ? -1 : std::ssize(found->second);
  }

  base::Status CheckedStep(std::span<const Append> appends, std::span<float> logits);
  base::Status CheckedScore(std::span<const base::TokenId> tokens, std::size_t first,
                            const PositionSink& sink) const;

  at::Tensor Predicted(const at::Tensor& logits) const { return logits.narrow(-1, 0, vocab_size_); }

  const std::vector<ReferenceModel> models_;  // the public one first
  const int vocab_size_;
  SequenceId last_sequence_ = 0;
  std::map<SequenceId, std::vector<base::TokenId>> sequences_;
};

base::Status Impl::CheckedStep(std::span<const Append> appends, std::span<float> logits) {
  const at::NoGradGuard no_grad;
  at::Tensor out = torch::from_blob(logits.data(),
                                    {static_cast<std::int64_t>(ensemble::CountPredicting(appends)),
                                     std::ssize(models_), vocab_size()});
  std::vector<std::vector<base::TokenId>> grown;
  std::int64_t predicted = 0;
  for (std::size_t i = 0; i < appends.size(); ++i) {
    std::vector<base::TokenId> tokens = sequences_.at(appends[i].sequence);
    tokens.insert(tokens.end(), appends[i].tokens.begin(), appends[i].tokens.end());
    // Hidden states are of no use to the tokens after them here: what predicts nothing is only
    // kept.
    for (std::size_t m = 0; appends[i].predicts && m < models_.size(); ++m) {
      const at::Tensor hidden = models_[m].HiddenStates(TensorOf(tokens));
      out[predicted][static_cast<std::int64_t>(m)].copy_(Predicted(models_[m].Logits(hidden[-1])));
    }
    if (appends[i].predicts) ++predicted;
    grown.push_back(std::move(tokens));
  }
  // Only now, so that an error leaves every sequence as it was.
  for (std::size_t i = 0; i < appends.size(); ++i) {
    sequences_.at(appends[i].sequence) = std::move(grown[i]);
  }
  return base::OkStatus();
}

base::Status Impl::CheckedScore(std::span<const base::TokenId> tokens, std::size_t first,
                                const PositionSink& sink) const {
  if (first >= tokens.size()) return base::OkStatus();
  const at::NoGradGuard no_grad;
  const std::int64_t inputs = std::ssize(tokens) - 1;
  std::vector<at::Tensor> hidden;  // [T - 1, C] a model
  for (const ReferenceModel& model : models_) {
    hidden.push_back(model.HiddenStates(TensorOf(tokens.first(tokens.size() - 1))));
  }
  const std::size_t position_size = models_.size() * static_cast<std::size_t>(vocab_size());
  for (auto begin = static_cast<std::int64_t>(first) - 1; begin < inputs;
       begin += kPositionsAtATime) {
    const std::int64_t count = std::min(kPositionsAtATime, inputs - begin);
    std::vector<at::Tensor> rows;  // [count, V] a model
    for (std::size_t m = 0; m < models_.size(); ++m) {
      rows.push_back(Predicted(models_[m].Logits(hidden[m].narrow(0, begin, count))));
    }
    const at::Tensor logits = at::stack(rows, 1);  // [count, M + 1, V]
    for (std::int64_t i = 0; i < count; ++i) {
      SUBMIX_RETURN_IF_ERROR(sink(static_cast<std::size_t>(begin + i) + 1,
                                  {logits[i].data_ptr<float>(), position_size}));
    }
  }
  return base::OkStatus();
}

// Products of logits are in float32 whatever the linear layers' are in.
DecoderWeights ReferenceWeights(const PublicModel& loaded, Precision precision) {
  DecoderWeights weights = AssembleWeights(loaded.config, loaded.tensors, ScalarTypeOf(precision));
  weights.unembedding = weights[model::NamesOf(loaded.config).unembedding + ".weight"];
  return weights;
}

base::StatusOr<std::vector<ReferenceModel>> LoadModels(const TorchPredictorOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const PublicModel base,
                          LoadPublicModel(options.public_directory, Precision::kFloat32));
  const DecoderWeights weights = ReferenceWeights(base, options.precision);
  std::vector<ReferenceModel> models;
  models.emplace_back(weights);
  for (const std::string& directory : options.member_directories) {
    if (ensemble::IsAdapterDirectory(directory)) {
      SUBMIX_ASSIGN_OR_RETURN(const model::LoraAdapter adapter,
                              model::LoadLoraAdapter(directory, base.config));
      models.emplace_back(weights).Adapt(adapter);
    } else {
      SUBMIX_ASSIGN_OR_RETURN(const PublicModel whole,
                              LoadPublicModel(directory, Precision::kFloat32));
      SUBMIX_RETURN_IF_ERROR(ensemble::CheckMemberShape(whole.config, base.config, directory));
      models.emplace_back(ReferenceWeights(whole, options.precision));
    }
  }
  return models;
}

}  // namespace

base::StatusOr<std::unique_ptr<ensemble::Predictor>> TorchPredictor::Load(
    const TorchPredictorOptions& options) {
  SUBMIX_RETURN_IF_ERROR(SetTorchThreads(options.threads));
  return CatchTorchErrors([&]() -> base::StatusOr<std::unique_ptr<ensemble::Predictor>> {
    SUBMIX_ASSIGN_OR_RETURN(std::vector<ReferenceModel> models, LoadModels(options));
    return std::unique_ptr<ensemble::Predictor>(
        std::make_unique<Impl>(std::move(models), options.vocab_size));
  });
}

}  // namespace submix::train
