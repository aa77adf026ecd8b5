#include "submix/train/models/lora_stack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "submix/base/check.h"

namespace submix::train {
namespace {

struct ModulePlace {
  std::size_t layer = 0;
  std::size_t linear = 0;
};

// Where "h.3.mlp.c_fc" belongs.
ModulePlace PlaceOf(const std::string& name) {
  ModulePlace place;
  const std::size_t dot = name.find('.', 2);
  place.layer = static_cast<std::size_t>(std::stoul(name.substr(2, dot - 2)));
  for (int linear = 0; linear < kLinearsPerLayer; ++linear) {
    if (name.compare(dot + 1, std::string::npos, LinearName(linear)) == 0) {
      place.linear = static_cast<std::size_t>(linear);
      return place;
    }
  }
  SUBMIX_CHECK(false, "not a linear layer of GPT-2");
}

std::optional<LoraFactors>& FactorsOf(LoraStack& stack, const std::string& name) {
  const ModulePlace place = PlaceOf(name);
  return stack.layers[place.layer][place.linear];
}

// Uniform in [0, 1) by 24 bits, the same on every standard library.
float Uniform(std::mt19937_64& generator) {
  return static_cast<float>(generator() >> 40) * 0x1p-24f;
}

// Copies one module of one adapter into its group of the stack, b transposed and scaled.
void CopyModule(const model::LoraAdapter& adapter, const model::LoraModule& module, int group,
                LoraFactors& factors) {
  const int rank = adapter.config.rank;
  at::Tensor a = factors.a[group];
  at::Tensor b = factors.b[group];
  std::memcpy(a.data_ptr<float>(), module.a.data(), module.a.size() * sizeof(float));
  float* b_values = b.data_ptr<float>();
  const auto scaling = static_cast<float>(adapter.scaling());
  for (int out = 0; out < module.outputs; ++out) {
    for (int r = 0; r < rank; ++r) {
      b_values[r * module.outputs + out] =
          scaling * module.b[static_cast<std::size_t>(out * rank + r)];
    }
  }
}

}  // namespace

int LoraStack::FirstAdaptedLayer() const {
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    for (const std::optional<LoraFactors>& factors : layers[layer]) {
      if (factors.has_value()) return static_cast<int>(layer);
    }
  }
  return static_cast<int>(layers.size());
}

std::vector<FlatParameters::Spec> LoraSpecs(const model::LoraConfig& config,
                                            std::span<const model::LoraModule> modules) {
  std::vector<FlatParameters::Spec> specs;
  for (const model::LoraModule& module : modules) {
    specs.push_back({module.name + ".lora_A", {config.rank, module.inputs}, true});
    specs.push_back({module.name + ".lora_B", {module.outputs, config.rank}, true});
  }
  return specs;
}

void InitializeLora(std::span<const model::LoraModule> modules, int group, std::uint64_t seed,
                    FlatParameters& parameters) {
  std::mt19937_64 generator(seed);
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const float bound = 1.0f / std::sqrt(static_cast<float>(modules[i].inputs));
    for (float& value : parameters.values(group, 2 * i)) {
      value = bound * (2 * Uniform(generator) - 1);
    }
    std::ranges::fill(parameters.values(group, 2 * i + 1), 0.0f);
  }
}

LoraStack StackForTraining(const model::GptConfig& model, const model::LoraConfig& config,
                           std::span<const model::LoraModule> modules,
                           const FlatParameters& parameters) {
  LoraStack stack;
  stack.groups = parameters.groups();
  stack.scaling = config.lora_alpha / config.rank;
  stack.layers.resize(static_cast<std::size_t>(model.layers));
  for (std::size_t i = 0; i < modules.size(); ++i) {
    FactorsOf(stack, modules[i].name) =
        LoraFactors{parameters.leaf(2 * i), parameters.leaf(2 * i + 1).transpose(1, 2)};
  }
  return stack;
}

model::LoraAdapter ToAdapter(const model::LoraConfig& config,
                             std::span<const model::LoraModule> modules, int group,
                             FlatParameters& parameters) {
  model::LoraAdapter adapter;
  adapter.config = config;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    model::LoraModule module = modules[i];
    const std::span<const float> a = parameters.values(group, 2 * i);
    const std::span<const float> b = parameters.values(group, 2 * i + 1);
    module.a.assign(a.begin(), a.end());
    module.b.assign(b.begin(), b.end());
    adapter.modules.push_back(std::move(module));
  }
  return adapter;
}

LoraStack StackForInference(const model::GptConfig& model,
                            std::span<const model::LoraAdapter> adapters) {
  LoraStack stack;
  stack.groups = static_cast<int>(adapters.size()) + 1;
  stack.layers.resize(static_cast<std::size_t>(model.layers));
  int rank = 0;
  for (const model::LoraAdapter& adapter : adapters) rank = std::max(rank, adapter.config.rank);
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    for (const model::LoraModule& module : adapters[i].modules) {
      std::optional<LoraFactors>& factors = FactorsOf(stack, module.name);
      if (!factors.has_value()) {
        factors = LoraFactors{torch::zeros({stack.groups, rank, module.inputs}),
                              torch::zeros({stack.groups, rank, module.outputs})};
      }
      CopyModule(adapters[i], module, static_cast<int>(i) + 1, *factors);
    }
  }
  return stack;
}

}  // namespace submix::train
