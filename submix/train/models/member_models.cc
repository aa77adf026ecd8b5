#include "submix/train/models/member_models.h"

#include <cstring>

#include "submix/base/file_system.h"
#include "submix/train/models/gpt_module.h"
#include "submix/train/models/lora_stack.h"

namespace submix::train {
namespace {

class LoraMembers final : public MemberModels {
 public:
  LoraMembers(const PublicModel& public_model, model::LoraConfig config,
              std::vector<model::LoraModule> modules, int groups, at::ScalarType compute_type)
      : config_(std::move(config)),
        modules_(std::move(modules)),
        weights_(AssembleGptWeights(public_model.config, public_model.tensors, compute_type)),
        parameters_(groups, LoraSpecs(config_, modules_)),
        stack_(StackForTraining(public_model.config, config_, modules_, parameters_)) {}

  FlatParameters& parameters() override { return parameters_; }

  void Initialize(int group, std::uint64_t seed) override {
    InitializeLora(modules_, group, seed, parameters_);
  }

  base::Status Save(int group, const std::string& directory) override {
    return model::SaveLoraAdapter(ToAdapter(config_, modules_, group, parameters_), directory);
  }

 private:
  LastLayer Forward(const at::Tensor& tokens) override {
    return {HiddenStates(weights_, &stack_, tokens), weights_.unembedding};
  }

  const model::LoraConfig config_;
  const std::vector<model::LoraModule> modules_;
  const GptWeights weights_;
  FlatParameters parameters_;
  const LoraStack stack_;
};

class FullMember final : public MemberModels {
 public:
  FullMember(const PublicModel& public_model, at::ScalarType compute_type)
      : public_model_(public_model),
        compute_type_(compute_type),
        parameters_(1, GptTensorSpecs(public_model.config)) {
    for (std::size_t i = 0; i < parameters_.specs().size(); ++i) {
      views_.push_back(parameters_.leaf(i).view(parameters_.specs()[i].shape));
    }
  }

  FlatParameters& parameters() override { return parameters_; }

  void Initialize(int group, std::uint64_t /*seed*/) override {
    for (std::size_t i = 0; i < public_model_.tensors.size(); ++i) {
      const std::span<float> values = parameters_.values(group, i);
      std::memcpy(values.data(), public_model_.tensors[i].data_ptr<float>(), values.size_bytes());
    }
  }

  base::Status Save(int group, const std::string& directory) override {
    return SaveGptModel(public_model_.config, parameters_.values(group), directory);
  }

 private:
  LastLayer Forward(const at::Tensor& tokens) override {
    const GptWeights weights = AssembleGptWeights(public_model_.config, views_, compute_type_);
    return {HiddenStates(weights, nullptr, tokens), weights.unembedding};
  }

  const PublicModel& public_model_;
  const at::ScalarType compute_type_;
  FlatParameters parameters_;
  std::vector<at::Tensor> views_;  // the parameters in the model's own shapes
};

}  // namespace

CrossEntropy MemberModels::Loss(const TokenBatch& batch) {
  const LastLayer last = Forward(batch.tokens());
  return UnembeddingCrossEntropy(last.hidden, last.unembedding, batch.targets(), batch.weights());
}

at::Tensor MemberModels::Logits(const at::Tensor& tokens) {
  const at::NoGradGuard no_gradients;
  const LastLayer last = Forward(tokens);
  return at::matmul(last.hidden, last.unembedding.t()).to(torch::kFloat);
}

base::StatusOr<PublicModel> LoadPublicModel(const std::string& directory) {
  PublicModel model;
  SUBMIX_ASSIGN_OR_RETURN(model.config,
                          model::LoadGptConfig(base::JoinPath(directory, "config.json")));
  SUBMIX_ASSIGN_OR_RETURN(model.tensors, LoadGptTensors(directory, model.config));
  return model;
}

base::StatusOr<std::unique_ptr<MemberModels>> MakeLoraMembers(const PublicModel& public_model,
                                                              const model::LoraConfig& config,
                                                              int groups,
                                                              at::ScalarType compute_type) {
  SUBMIX_ASSIGN_OR_RETURN(std::vector<model::LoraModule> modules,
                          model::AdaptedModules(public_model.config, config));
  if (modules.empty()) {
    return base::InvalidArgumentError("the LoRA configuration adapts no layer");
  }
  return std::unique_ptr<MemberModels>(std::make_unique<LoraMembers>(
      public_model, config, std::move(modules), groups, compute_type));
}

std::unique_ptr<MemberModels> MakeFullMember(const PublicModel& public_model,
                                             at::ScalarType compute_type) {
  return std::make_unique<FullMember>(public_model, compute_type);
}

}  // namespace submix::train
