#include "submix/train/models/member_models.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "submix/base/check.h"
#include "submix/train/models/decoder_module.h"
#include "submix/train/models/frozen_states.h"

namespace submix::train {
namespace {

ParameterVectors LoraVectors(const model::LoraConfig& config,
                             std::span<const model::LoraModule> modules) {
  ParameterVectors vectors;
  for (const model::LoraModule& module : modules) {
    AppendVector(vectors, module.name + ".lora_A", {config.rank, module.inputs});
    AppendVector(vectors, module.name + ".lora_B", {module.outputs, config.rank});
  }
  return vectors;
}

// Uniform in [0, 1) by 24 bits, the same on every standard library.
float Uniform(std::mt19937_64& generator) {
  return static_cast<float>(generator() >> 40) * 0x1p-24f;
}

// How many layers are below all adapters.
int FrozenLayers(const model::LoraConfig& config) {
  return config.layers.empty() ? 0 : *std::ranges::min_element(config.layers);
}

// What the first adapted layer reads of each row, [rows * positions, C] float32.
at::Tensor StatesOfRows(const DecoderWeights& weights, int first_layer, const TokenBatch& batch) {
  const at::Tensor& tokens = batch.tokens();
  at::Tensor states =
      at::zeros({tokens.size(0), tokens.size(1), weights.config.width}, weights.compute_type);
  for (std::int64_t row = 0; row < tokens.size(0); ++row) {
    const std::optional<StatePlace>& place = batch.place(row);
    if (!place.has_value()) continue;
    at::Tensor state = states[row];
    const std::span<std::byte> bytes(static_cast<std::byte*>(state.data_ptr()), state.nbytes());
    if (place->states->Read(place->block, bytes)) continue;
    state.copy_(StatesBelow(weights, first_layer, tokens.narrow(0, row, 1)));
    place->states->Keep(place->block, bytes);
  }
  return states.to(torch::kFloat).view({-1, weights.config.width});
}

class LoraMembers final : public MemberModels {
 public:
  LoraMembers(DecoderWeights weights, model::LoraConfig config,
              std::vector<model::LoraModule> modules, int groups)
      : config_(std::move(config)),
        modules_(std::move(modules)),
        weights_(std::move(weights)),
        frozen_layers_(FrozenLayers(config_)),
        parameters_(groups, LoraVectors(config_, modules_)) {
    stack_.scaling = config_.lora_alpha / config_.rank;
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      stack_.factors[modules_[i].name] = {parameters_.leaf(2 * i),
                                          parameters_.leaf(2 * i + 1).transpose(1, 2)};
    }
  }

  std::unique_ptr<MemberModels> Twin() const override {
    return std::make_unique<LoraMembers>(weights_, config_, modules_, parameters_.groups());
  }

  FlatParameters& parameters() override { return parameters_; }

  std::size_t StateBytes(std::int64_t positions) const override {
    if (frozen_layers_ == 0) return 0;
    return static_cast<std::size_t>(positions * weights_.config.width) *
           c10::elementSize(weights_.compute_type);
  }

  void Initialize(int group, std::uint64_t seed) override {
    std::mt19937_64 generator(seed);
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      const float bound = 1.0f / std::sqrt(static_cast<float>(modules_[i].inputs));
      for (float& value : parameters_.values(group, 2 * i)) {
        value = bound * (2 * Uniform(generator) - 1);
      }
      std::ranges::fill(parameters_.values(group, 2 * i + 1), 0.0f);
    }
  }

  base::Status Save(int group, const std::string& directory) override {
    model::LoraAdapter adapter = {config_, modules_};
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      const std::span<const float> a = parameters_.values(group, 2 * i);
      const std::span<const float> b = parameters_.values(group, 2 * i + 1);
      adapter.modules[i].a.assign(a.begin(), a.end());
      adapter.modules[i].b.assign(b.begin(), b.end());
    }
    return model::SaveLoraAdapter(adapter, weights_.config, directory);
  }

 private:
  LastLayer Forward(const at::Tensor& tokens) override {
    return {HiddenStates(weights_, stack_, tokens), weights_.unembedding,
            weights_.config.logit_soft_cap};
  }

  LastLayer ForwardFromStates(const TokenBatch& batch) override {
    const at::Tensor states = StatesOfRows(weights_, frozen_layers_, batch);
    return {HiddenStatesFrom(weights_, stack_, frozen_layers_, states, batch.tokens().size(1)),
            weights_.unembedding, weights_.config.logit_soft_cap};
  }

  const model::LoraConfig config_;
  const std::vector<model::LoraModule> modules_;
  const DecoderWeights weights_;
  const int frozen_layers_;
  FlatParameters parameters_;
  LoraStack stack_;  // views of the parameters
};

class FullMember final : public MemberModels {
 public:
  FullMember(const PublicModel& public_model, at::ScalarType compute_type)
      : public_model_(public_model),
        compute_type_(compute_type),
        parameters_(1, WeightVectors(public_model.config)) {
    for (std::size_t i = 0; i < parameters_.vectors().size(); ++i) {
      views_.push_back(parameters_.leaf(i).view(parameters_.vectors()[i].shape));
    }
  }

  std::unique_ptr<MemberModels> Twin() const override { return nullptr; }

  FlatParameters& parameters() override { return parameters_; }

  std::size_t StateBytes(std::int64_t /*positions*/) const override { return 0; }

  void Initialize(int group, std::uint64_t /*seed*/) override {
    for (std::size_t i = 0; i < public_model_.tensors.size(); ++i) {
      const at::Tensor& start = public_model_.tensors[i];
      torch::from_blob(parameters_.values(group, i).data(), start.sizes()).copy_(start);
    }
  }

  base::Status Save(int group, const std::string& directory) override {
    return SaveModel(public_model_, parameters_.values(group), directory);
  }

 private:
  LastLayer Forward(const at::Tensor& tokens) override {
    const DecoderWeights weights = AssembleWeights(public_model_.config, views_, compute_type_);
    return {HiddenStates(weights, {}, tokens), weights.unembedding, weights.config.logit_soft_cap};
  }

  LastLayer ForwardFromStates(const TokenBatch& batch) override { return Forward(batch.tokens()); }

  const PublicModel& public_model_;
  const at::ScalarType compute_type_;
  FlatParameters parameters_;
  std::vector<at::Tensor> views_;  // the parameters in the model's own shapes
};

}  // namespace

at::Tensor MemberModels::Loss(const TokenBatch& batch) {
  const LastLayer last = batch.has_places() ? ForwardFromStates(batch) : Forward(batch.tokens());
  return UnembeddingCrossEntropy(last.hidden, last.unembedding, batch.targets(), batch.weights(),
                                 last.soft_cap);
}

at::Tensor MemberModels::Logits(const at::Tensor& tokens) {
  const at::NoGradGuard no_gradients;
  const LastLayer last = Forward(tokens);
  const at::Tensor logits = at::matmul(last.hidden, last.unembedding.t()).to(torch::kFloat);
  return last.soft_cap > 0 ? last.soft_cap * at::tanh(logits / last.soft_cap) : logits;
}

base::StatusOr<std::unique_ptr<MemberModels>> MakeMembers(
    const PublicModel& public_model, const std::optional<model::LoraConfig>& lora, int groups,
    Precision precision) {
  const at::ScalarType type = ScalarTypeOf(precision);
  std::unique_ptr<MemberModels> members;
  if (!lora.has_value()) {
    SUBMIX_CHECK(groups == 1, "whole models are trained one after another");
    members = std::make_unique<FullMember>(public_model, type);
    return members;
  }
  SUBMIX_ASSIGN_OR_RETURN(std::vector<model::LoraModule> modules,
                          model::AdaptedModules(public_model.config, *lora));
  if (modules.empty()) {
    return base::InvalidArgumentError("the LoRA configuration adapts no layer");
  }
  members = std::make_unique<LoraMembers>(
      AssembleWeights(public_model.config, public_model.tensors, type), *lora, std::move(modules),
      groups);
  return members;
}

std::string AdapterIdentity(const model::LoraConfig& config, std::int64_t passes) {
  const bool starts_from_states = passes > 1 && FrozenLayers(config) > 0;
  return IdentityText(config) + (starts_from_states ? " above rounded states" : "");
}

}  // namespace submix::train
