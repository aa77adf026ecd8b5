#include "submix/model/lora_adapter.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/model/gpt_tensors.h"
#include "submix/model/lora_config_file.h"
#include "submix/model/safetensors.h"

namespace submix::model {
namespace {

constexpr const char* kConfigFile = "adapter_config.json";
constexpr const char* kWeightsFile = "adapter_model.safetensors";
constexpr std::string_view kModelPrefix = "transformer.";
constexpr std::string_view kTensorPrefix = "base_model.model.transformer.";

// PEFT's rule: the whole name, or its end behind a dot.
bool IsNameOf(std::string_view full_name, std::string_view target) {
  if (full_name == target) return true;
  return full_name.size() > target.size() && full_name.ends_with(target) &&
         full_name[full_name.size() - target.size() - 1] == '.';
}

bool IsAdapted(const LoraConfig& config, int layer, std::string_view full_name) {
  const bool is_layer_listed =
      config.layers.empty() ||
      std::find(config.layers.begin(), config.layers.end(), layer) != config.layers.end();
  return std::any_of(
      config.target_modules.begin(), config.target_modules.end(), [&](const std::string& target) {
        // PEFT asks for the layer only where a name is matched by its end.
        return full_name == target || (is_layer_listed && IsNameOf(full_name, target));
      });
}

bool IsKnownTarget(const GptConfig& model, std::string_view target) {
  const std::vector<LinearLayer> layers = LinearLayers(model);
  return std::any_of(layers.begin(), layers.end(), [&](const LinearLayer& linear) {
    return IsNameOf(std::string(kModelPrefix) + linear.name, target);
  });
}

// The first layer of the config that the model does not have.
std::optional<int> MissingLayer(const GptConfig& model, const LoraConfig& config) {
  for (const int layer : config.layers) {
    if (layer < 0 || layer >= model.layers) return layer;
  }
  return std::nullopt;
}

std::string LayerProblem(const GptConfig& model, int layer) {
  return "layer " + std::to_string(layer) + " does not exist; the model has " +
         std::to_string(model.layers);
}

std::string TensorName(const LoraModule& module, std::string_view which) {
  return std::string(kTensorPrefix) + module.name + "." + std::string(which) + ".weight";
}

struct AdapterTensor {
  std::vector<std::int64_t> shape;
  std::vector<float>* values;
};

// Every tensor that the adapter must hold, by name, with the place of its values.
std::map<std::string, AdapterTensor> AdapterTensors(int rank, std::vector<LoraModule>& modules) {
  std::map<std::string, AdapterTensor> tensors;
  for (LoraModule& module : modules) {
    tensors[TensorName(module, "lora_A")] = {{rank, module.inputs}, &module.a};
    tensors[TensorName(module, "lora_B")] = {{module.outputs, rank}, &module.b};
  }
  return tensors;
}

base::Status OtherBaseError(const std::string& path, const std::string& problem) {
  return base::FailedPreconditionError(path + ": " + problem +
                                       "; is this an adapter for another base model?");
}

base::Status CheckTensors(const SafetensorsFile& file,
                          const std::map<std::string, AdapterTensor>& expected) {
  for (const auto& [name, tensor] : expected) {
    const auto found = file.tensors().find(name);
    if (found == file.tensors().end()) {
      return OtherBaseError(file.path(), "tensor " + base::Quoted(name) + ": expected " +
                                             ShapeText(tensor.shape) + ", found nothing");
    }
    if (found->second.shape != tensor.shape) {
      return OtherBaseError(file.path(), "tensor " + base::Quoted(name) + ": expected " +
                                             ShapeText(tensor.shape) + ", found " +
                                             ShapeText(found->second.shape));
    }
  }
  for (const auto& [name, tensor] : file.tensors()) {
    if (!expected.contains(name)) {
      return OtherBaseError(
          file.path(),
          "tensor " + base::Quoted(name) + ": expected nothing, found " + ShapeText(tensor.shape));
    }
  }
  return base::OkStatus();
}

}  // namespace

std::string IdentityText(const LoraConfig& config) {
  std::ostringstream text;
  text.precision(17);
  text << "lora " << config.rank << ' ' << config.lora_alpha;
  for (const std::string& target : config.target_modules) text << ' ' << target;
  for (const int layer : config.layers) text << ' ' << layer;
  return text.str();
}

base::StatusOr<std::vector<LoraModule>> AdaptedModules(const GptConfig& model,
                                                       const LoraConfig& config) {
  for (const std::string& target : config.target_modules) {
    if (!IsKnownTarget(model, target)) {
      return base::InvalidArgumentError("unknown target module " + base::Quoted(target) +
                                        "; known are c_attn, attn.c_proj, mlp.c_fc, mlp.c_proj");
    }
  }
  if (const std::optional<int> layer = MissingLayer(model, config)) {
    return base::InvalidArgumentError(LayerProblem(model, *layer));
  }
  std::vector<LoraModule> modules;
  for (LinearLayer& linear : LinearLayers(model)) {
    if (!IsAdapted(config, linear.layer, std::string(kModelPrefix) + linear.name)) continue;
    modules.push_back({.name = std::move(linear.name),
                       .inputs = linear.inputs,
                       .outputs = linear.outputs,
                       .a = {},
                       .b = {}});
  }
  return modules;
}

base::StatusOr<LoraAdapter> LoadLoraAdapter(const std::string& directory, const GptConfig& model) {
  const std::string config_path = base::JoinPath(directory, kConfigFile);
  LoraAdapter adapter;
  SUBMIX_ASSIGN_OR_RETURN(adapter.config, LoadLoraConfig(config_path));
  if (const std::optional<int> layer = MissingLayer(model, adapter.config)) {
    return OtherBaseError(config_path, LayerProblem(model, *layer));
  }
  base::StatusOr<std::vector<LoraModule>> modules = AdaptedModules(model, adapter.config);
  if (!modules.ok()) {
    return base::Status(modules.status().code(), config_path + ": " + modules.status().message());
  }
  adapter.modules = *std::move(modules);

  SUBMIX_ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsFile> file,
                          SafetensorsFile::Open(base::JoinPath(directory, kWeightsFile)));
  const std::map<std::string, AdapterTensor> expected =
      AdapterTensors(adapter.config.rank, adapter.modules);
  SUBMIX_RETURN_IF_ERROR(CheckTensors(*file, expected));
  for (const auto& [name, tensor] : expected) {
    SUBMIX_ASSIGN_OR_RETURN(*tensor.values, file->Read(name, tensor.shape));
  }
  return adapter;
}

base::Status SaveLoraAdapter(const LoraAdapter& adapter, const std::string& directory) {
  std::vector<NamedTensor> tensors;
  for (const LoraModule& module : adapter.modules) {
    const std::int64_t rank = adapter.config.rank;
    tensors.push_back({TensorName(module, "lora_A"), {rank, module.inputs}, module.a});
    tensors.push_back({TensorName(module, "lora_B"), {module.outputs, rank}, module.b});
  }
  SUBMIX_RETURN_IF_ERROR(WriteSafetensors(base::JoinPath(directory, kWeightsFile), tensors,
                                          Dtype::kF32, {{"format", "pt"}}));
  return SaveLoraConfig(adapter.config, base::JoinPath(directory, kConfigFile));
}

}  // namespace submix::model
