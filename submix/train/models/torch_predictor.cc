#include "submix/train/models/torch_predictor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <torch/types.h>

#include "submix/ensemble/predictor_checks.h"
#include "submix/model/lora_adapter.h"
#include "submix/train/models/gpt_weights.h"
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
  explicit ReferenceModel(GptWeights weights) : weights_(std::move(weights)) {}

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
    at::Tensor x = weights_["wte.weight"].index_select(0, tokens) +
                   weights_["wpe.weight"].narrow(0, 0, tokens.size(0));
    for (int layer = 0; layer < config().layers; ++layer) {
      const std::string prefix = "h." + std::to_string(layer) + ".";
      const at::Tensor qkv = Linear(prefix + "attn.c_attn", Norm(prefix + "ln_1", x));
      x = x + Linear(prefix + "attn.c_proj", Attend(qkv));
      const at::Tensor wide = Linear(prefix + "mlp.c_fc", Norm(prefix + "ln_2", x));
      x = x + Linear(prefix + "mlp.c_proj", at::gelu(wide, "tanh"));
    }
    return Norm("ln_f", x);
  }

  // In float32: logits rounded to bfloat16 would show. [N, C] to [N, V].
  at::Tensor Logits(const at::Tensor& hidden) const {
    return at::matmul(hidden, weights_["wte.weight"].t());
  }

 private:
  struct Factors {
    at::Tensor a;  // [rank, inputs]
    at::Tensor b;  // [outputs, rank]
  };

  at::Tensor Norm(const std::string& name, const at::Tensor& x) const {
    return at::layer_norm(x, {x.size(1)}, weights_[name + ".weight"], weights_[name + ".bias"],
                          config().norm_epsilon);
  }

  // In the precision of the linear layers; back in float32.
  at::Tensor Linear(const std::string& name, const at::Tensor& input) const {
    const at::Tensor x = input.to(weights_.compute_type);
    at::Tensor y = at::matmul(x, weights_[name + ".weight"]) + weights_[name + ".bias"];
    if (const auto found = adapter_.find(name); found != adapter_.end()) {
      const Factors& factors = found->second;
      y = y + at::matmul(at::matmul(x, factors.a.t()), factors.b.t()) * scaling_;
    }
    return y.to(torch::kFloat);
  }

  // Queries, keys and values of all heads, [T, 3C], to [T, C].
  at::Tensor Attend(const at::Tensor& qkv) const {
    const std::int64_t positions = qkv.size(0);
    const at::Tensor heads = qkv.view({positions, 3, config().attention_heads, -1})
                                 .permute({1, 2, 0, 3});  // [3, heads, T, d]
    const double scale = std::sqrt(static_cast<double>(heads.size(3)));
    const at::Tensor future = torch::ones({positions, positions}, torch::kBool).triu(1);
    const at::Tensor scores = (at::matmul(heads[0], heads[1].transpose(1, 2)) / scale)
                                  .masked_fill(future, -std::numeric_limits<float>::infinity());
    return at::matmul(at::softmax(scores, 2), heads[2])
        .transpose(0, 1)
        .reshape({positions, config().width});
  }

  GptWeights weights_;
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

base::StatusOr<std::vector<ReferenceModel>> LoadModels(const TorchPredictorOptions& options) {
  const at::ScalarType type = ScalarTypeOf(options.precision);
  SUBMIX_ASSIGN_OR_RETURN(const PublicModel base, LoadPublicModel(options.public_directory));
  const GptWeights weights = AssembleGptWeights(base.config, base.tensors, type);
  std::vector<ReferenceModel> models;
  models.emplace_back(weights);
  for (const std::string& directory : options.member_directories) {
    if (ensemble::IsAdapterDirectory(directory)) {
      SUBMIX_ASSIGN_OR_RETURN(const model::LoraAdapter adapter,
                              model::LoadLoraAdapter(directory, base.config));
      models.emplace_back(weights).Adapt(adapter);
    } else {
      SUBMIX_ASSIGN_OR_RETURN(const PublicModel whole, LoadPublicModel(directory));
      SUBMIX_RETURN_IF_ERROR(ensemble::CheckMemberShape(whole.config, base.config, directory));
      models.emplace_back(AssembleGptWeights(whole.config, whole.tensors, type));
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
