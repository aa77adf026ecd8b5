#include "submix/model/lora_adapter.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/model/decoder_tensors.h"
#include "submix/model/lora_scales.h"
#include "submix/model/safetensors.h"

namespace submix::model {
namespace {

using base::JsonObject;
using base::Quoted;

// --- adapter_config.json, as PEFT's LoraConfig writes it

constexpr int kMaxLayer = 1 << 12;

constexpr std::string_view kKnownFields[] = {
    // Read below.
    "peft_type", "r", "lora_alpha", "target_modules", "base_model_name_or_path", "fan_in_fan_out",
    "bias", "layers_to_transform", "init_lora_weights", "use_rslora", "rank_pattern",
    "alpha_pattern",
    // Cannot change what a trained adapter computes.
    "auto_mapping", "inference_mode", "layers_pattern", "loftq_config", "lora_dropout",
    "megatron_core", "qalora_group_size", "revision", "task_type", "peft_version", "eva_config",
    "lora_ga_config"};

base::Status ExpectText(const JsonObject& json, std::string_view field, std::string_view expected) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string found, json.Text(field));
  if (found == expected) return base::OkStatus();
  return json.FieldError(field,
                         "only " + Quoted(expected) + " is supported, found " + Quoted(found));
}

// Some initialisations (PiSSA, OLoRA, CorDA, LoftQ) subtract from the base weights.
base::Status CheckInitialisation(const JsonObject& json) {
  if (!json.IsText("init_lora_weights")) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(const std::string name, json.Text("init_lora_weights"));
  if (name == "gaussian" || name == "eva" || name == "orthogonal") return base::OkStatus();
  return json.FieldError("init_lora_weights",
                         Quoted(name) +
                             " changes the base model; convert the adapter to plain "
                             "LoRA first");
}

base::Status CheckFeatures(const JsonObject& json, const DecoderConfig& model) {
  SUBMIX_RETURN_IF_ERROR(ExpectText(json, "peft_type", "LORA"));
  if (json.Has("bias")) SUBMIX_RETURN_IF_ERROR(ExpectText(json, "bias", "none"));
  SUBMIX_RETURN_IF_ERROR(CheckInitialisation(json));
  bool fan_in_fan_out = false;
  SUBMIX_RETURN_IF_ERROR(json.ReadIfPresent("fan_in_fan_out", fan_in_fan_out));
  if (fan_in_fan_out != HasConv1d(model)) {
    return json.FieldError("fan_in_fan_out",
                           HasConv1d(model)
                               ? "expected true, as GPT-2's weights are [in, out]; was the adapter "
                                 "made for a model of another family?"
                               : "expected false, as this model's weights are [out, in]; was the "
                                 "adapter made for a GPT-2?");
  }
  for (const std::string& field : json.fields()) {
    const bool is_known = std::ranges::find(kKnownFields, field) != std::end(kKnownFields);
    if (!is_known && !json.IsOff(field)) {
      return json.FieldError(field, "not supported; only plain LoRA is read");
    }
  }
  return base::OkStatus();
}

// Of LoRA's target_modules: every linear layer of every transformer layer.
constexpr std::string_view kAllLinear = "all-linear";

base::StatusOr<std::vector<std::string>> TargetModules(const JsonObject& json,
                                                       const std::string& path) {
  constexpr const char* kField = "target_modules";
  if (json.IsText(kField)) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string text, json.Text(kField));
    if (text == kAllLinear) return std::vector<std::string>{text};
    return base::UnimplementedError(path +
                                    ": field \"target_modules\": a regular expression is "
                                    "not supported; list the modules");
  }
  SUBMIX_ASSIGN_OR_RETURN(std::vector<std::string> targets, json.Texts(kField));
  if (targets.empty()) return json.FieldError(kField, "expected at least one module");
  return targets;
}

// Where the layer's number stands in a name. A model has one such place.
base::Status CheckLayersPattern(const JsonObject& json, const DecoderConfig& model) {
  constexpr const char* kField = "layers_pattern";
  const std::string only = HasConv1d(model) ? "h" : "layers";
  if (json.IsOff(kField)) return base::OkStatus();
  if (json.IsText(kField)) return ExpectText(json, kField, only);
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<std::string> patterns, json.Texts(kField));
  if (patterns == std::vector<std::string>{only}) return base::OkStatus();
  return json.FieldError(kField, "only null and " + Quoted(only) + " are supported");
}

// But for rank and scaling, which LoraScales says of each module. A field that would change the
// result, known or unknown, is refused unless it is off.
base::StatusOr<LoraConfig> ReadLoraConfig(const JsonObject& json, const std::string& path,
                                          const DecoderConfig& model) {
  SUBMIX_RETURN_IF_ERROR(CheckFeatures(json, model));
  SUBMIX_RETURN_IF_ERROR(CheckLayersPattern(json, model));
  LoraConfig config;
  SUBMIX_ASSIGN_OR_RETURN(config.target_modules, TargetModules(json, path));
  if (json.Has("layers_to_transform")) {
    SUBMIX_ASSIGN_OR_RETURN(config.layers, json.IntOrInts("layers_to_transform", 0, kMaxLayer));
  }
  SUBMIX_RETURN_IF_ERROR(json.ReadIfPresent("base_model_name_or_path", config.base_model));
  return config;
}

// PEFT takes a word for all modules, but not beside a list of layers.
nlohmann::ordered_json SavedTargets(const LoraConfig& config, bool is_conv1d) {
  if (config.target_modules != std::vector<std::string>{std::string(kAllLinear)}) {
    return config.target_modules;
  }
  if (config.layers.empty()) return kAllLinear;
  if (is_conv1d) return {"c_attn", "c_fc", "c_proj"};
  return {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
}

// With every field that decides the result, so that no version of PEFT falls back on a default.
base::Status SaveLoraConfig(const LoraConfig& config, bool fan_in_fan_out,
                            const std::string& path) {
  using nlohmann::ordered_json;
  const ordered_json layers =
      config.layers.empty() ? ordered_json(nullptr) : ordered_json(config.layers);
  const ordered_json base_model =
      config.base_model.empty() ? ordered_json(nullptr) : ordered_json(config.base_model);
  const ordered_json json = {
      {"alpha_pattern", ordered_json::object()},
      {"auto_mapping", nullptr},
      {"base_model_name_or_path", base_model},
      {"bias", "none"},
      {"fan_in_fan_out", fan_in_fan_out},
      {"inference_mode", true},
      {"init_lora_weights", true},
      {"layers_pattern", nullptr},
      {"layers_to_transform", layers},
      {"lora_alpha", config.lora_alpha},
      {"lora_dropout", 0.0},
      {"modules_to_save", nullptr},
      {"peft_type", "LORA"},
      {"r", config.rank},
      {"rank_pattern", ordered_json::object()},
      {"revision", nullptr},
      {"target_modules", SavedTargets(config, fan_in_fan_out)},
      {"task_type", "CAUSAL_LM"},
      {"use_dora", false},
      {"use_rslora", false},
  };
  try {
    return base::WriteFile(path, json.dump(2) + "\n");
  } catch (const ordered_json::exception&) {
    return base::InvalidArgumentError(path + ": a module or base model name is not UTF-8");
  }
}

// --- The adapter

constexpr const char* kConfigFile = "adapter_config.json";
constexpr const char* kWeightsFile = "adapter_model.safetensors";
constexpr std::string_view kAdapterPrefix = "base_model.model.";

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
        return full_name == target ||
               (is_layer_listed && (target == kAllLinear || IsNameOf(full_name, target)));
      });
}

bool IsKnownTarget(const DecoderConfig& model, std::string_view target) {
  const std::vector<LinearLayer> layers = LinearLayers(model);
  return std::any_of(layers.begin(), layers.end(), [&](const LinearLayer& linear) {
    return target == kAllLinear || IsNameOf(ModelPrefix(model) + linear.name, target);
  });
}

// The first layer of the config that the model does not have.
std::optional<int> MissingLayer(const DecoderConfig& model, const LoraConfig& config) {
  for (const int layer : config.layers) {
    if (layer < 0 || layer >= model.layers) return layer;
  }
  return std::nullopt;
}

std::string LayerProblem(const DecoderConfig& model, int layer) {
  return "layer " + std::to_string(layer) + " does not exist; the model has " +
         std::to_string(model.layers);
}

std::string TensorName(const std::string& model_prefix, const LoraModule& module,
                       std::string_view which) {
  return std::string(kAdapterPrefix) + model_prefix + module.name + "." + std::string(which) +
         ".weight";
}

struct AdapterTensor {
  std::vector<std::int64_t> shape;
  std::vector<float>* values;
};

// An adapter whose modules have ranks and scalings of their own.
struct UnevenAdapter {
  LoraAdapter adapter;
  std::vector<LoraScale> scales;  // of its modules
};

// Every tensor that the adapter must hold, by name, with the place of its values.
std::map<std::string, AdapterTensor> AdapterTensors(const std::string& model_prefix,
                                                    UnevenAdapter& uneven) {
  std::map<std::string, AdapterTensor> tensors;
  for (std::size_t i = 0; i < uneven.scales.size(); ++i) {
    LoraModule& module = uneven.adapter.modules[i];
    const int rank = uneven.scales[i].rank;
    tensors[TensorName(model_prefix, module, "lora_A")] = {{rank, module.inputs}, &module.a};
    tensors[TensorName(model_prefix, module, "lora_B")] = {{module.outputs, rank}, &module.b};
  }
  return tensors;
}

// Some programs save the name of PEFT's adapter with it, or leave out what PEFT wraps a model in.
std::string PeftName(std::string name) {
  for (const std::string which : {".lora_A", ".lora_B"}) {
    const std::string named = which + ".default.weight";
    if (name.ends_with(named))
      name.replace(name.size() - named.size(), named.size(), which + ".weight");
  }
  return name.starts_with(kAdapterPrefix) ? name : std::string(kAdapterPrefix) + name;
}

// The file's own names by those of PEFT.
base::StatusOr<std::map<std::string, std::string>> NamesInFile(const SafetensorsFile& file) {
  std::map<std::string, std::string> names;
  for (const auto& [name, tensor] : file.tensors()) {
    if (names.emplace(PeftName(name), name).second) continue;
    return base::DataLossError(file.path() + ": tensor " + Quoted(name) + ": is there twice");
  }
  return names;
}

// One rank and one scaling for all: factors get rows and columns of zeros, and where scalings
// differ, B has them.
LoraAdapter Evened(UnevenAdapter uneven) {
  LoraAdapter& adapter = uneven.adapter;
  for (std::size_t i = 0; i < uneven.scales.size(); ++i) {
    LoraModule& module = adapter.modules[i];
    const auto rank = static_cast<std::size_t>(uneven.scales[i].rank);
    const auto most = static_cast<std::size_t>(adapter.config.rank);
    const double factor = uneven.scales[i].scaling() / adapter.scaling();
    module.a.resize(most * static_cast<std::size_t>(module.inputs));
    std::vector<float> b(most * static_cast<std::size_t>(module.outputs));
    for (std::size_t output = 0; output < static_cast<std::size_t>(module.outputs); ++output) {
      for (std::size_t r = 0; r < rank; ++r) {
        b[output * most + r] = static_cast<float>(module.b[output * rank + r] * factor);
      }
    }
    module.b = std::move(b);
  }
  return std::move(adapter);
}

base::Status OtherBaseError(const std::string& problem) {
  return base::FailedPreconditionError(problem + "; is this an adapter for another base model?");
}

// Those of a module with the highest rank, for all.
void SetCommonScale(const std::vector<LoraScale>& scales, LoraConfig& config) {
  const LoraScale common = std::ranges::max(scales, {}, &LoraScale::rank);
  config.rank = common.rank;
  config.lora_alpha = common.alpha == 0 ? common.rank : common.alpha;  // others are relative to it
}

base::StatusOr<UnevenAdapter> LoadUnevenShape(const std::string& directory,
                                              const DecoderConfig& model) {
  const std::string config_path = base::JoinPath(directory, kConfigFile);
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject json, JsonObject::Load(config_path));
  UnevenAdapter uneven;
  LoraAdapter& adapter = uneven.adapter;
  SUBMIX_ASSIGN_OR_RETURN(adapter.config, ReadLoraConfig(json, config_path, model));
  if (const std::optional<int> layer = MissingLayer(model, adapter.config)) {
    return OtherBaseError(config_path + ": " + LayerProblem(model, *layer));
  }
  base::StatusOr<std::vector<LoraModule>> modules = AdaptedModules(model, adapter.config);
  if (!modules.ok()) {
    return base::Status(modules.status().code(), config_path + ": " + modules.status().message());
  }
  adapter.modules = *std::move(modules);
  SUBMIX_ASSIGN_OR_RETURN(const LoraScales scales, LoraScales::Read(json));
  for (const LoraModule& module : adapter.modules) {
    auto scale = scales.Of(ModelPrefix(model) + module.name);
    if (!scale.ok()) {
      return base::InvalidArgumentError(config_path + ": " + scale.status().message());
    }
    uneven.scales.push_back(*scale);
  }
  if (!uneven.scales.empty()) SetCommonScale(uneven.scales, adapter.config);
  return uneven;
}

}  // namespace

std::vector<std::string> AttentionInputs(const DecoderConfig& model) {
  if (HasConv1d(model)) return {"c_attn"};
  return {"q_proj", "k_proj", "v_proj"};
}

std::string IdentityText(const LoraConfig& config) {
  std::ostringstream text;
  text.precision(17);
  text << "lora " << config.rank << ' ' << config.lora_alpha;
  for (const std::string& target : config.target_modules) text << ' ' << target;
  for (const int layer : config.layers) text << ' ' << layer;
  return text.str();
}

base::StatusOr<std::vector<LoraModule>> AdaptedModules(const DecoderConfig& model,
                                                       const LoraConfig& config) {
  for (const std::string& target : config.target_modules) {
    if (!IsKnownTarget(model, target)) {
      return base::InvalidArgumentError(
          "unknown target module " + Quoted(target) + "; known are " +
          (HasConv1d(model) ? "c_attn, attn.c_proj, mlp.c_fc, mlp.c_proj"
                            : "q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj") +
          " and all-linear");
    }
  }
  if (const std::optional<int> layer = MissingLayer(model, config)) {
    return base::InvalidArgumentError(LayerProblem(model, *layer));
  }
  std::vector<LoraModule> modules;
  for (LinearLayer& linear : LinearLayers(model)) {
    if (!IsAdapted(config, linear.layer, ModelPrefix(model) + linear.name)) continue;
    modules.push_back({.name = std::move(linear.name),
                       .inputs = linear.inputs,
                       .outputs = linear.outputs,
                       .a = {},
                       .b = {}});
  }
  return modules;
}

base::StatusOr<LoraAdapter> LoadLoraShape(const std::string& directory,
                                          const DecoderConfig& model) {
  SUBMIX_ASSIGN_OR_RETURN(UnevenAdapter uneven, LoadUnevenShape(directory, model));
  return std::move(uneven.adapter);
}

base::StatusOr<LoraAdapter> LoadLoraAdapter(const std::string& directory,
                                            const DecoderConfig& model) {
  SUBMIX_ASSIGN_OR_RETURN(UnevenAdapter uneven, LoadUnevenShape(directory, model));
  SUBMIX_ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsFile> file,
                          SafetensorsFile::Open(base::JoinPath(directory, kWeightsFile)));
  SUBMIX_ASSIGN_OR_RETURN(const auto names, NamesInFile(*file));
  const std::map<std::string, AdapterTensor> expected = AdapterTensors(ModelPrefix(model), uneven);
  for (const auto& [name, tensor] : expected) {
    const auto own = names.find(name);
    const base::StatusOr<TensorView> found =
        file->Find(own == names.end() ? name : own->second, tensor.shape);
    if (found.status().code() == base::StatusCode::kUnimplemented) return found.status();
    if (!found.ok()) return OtherBaseError(found.status().message());
    if (!IsFinite(*found)) {
      return base::DataLossError(file->path() + ": tensor " + Quoted(name) +
                                 ": holds a number that is not finite");
    }
    *tensor.values = ToFloats(*found);
  }
  for (const auto& [name, own] : names) {
    if (expected.contains(name)) continue;
    return OtherBaseError(file->path() + ": tensor " + Quoted(own) + ": expected nothing, found " +
                          ShapeText(file->tensors().at(own).shape));
  }
  return Evened(std::move(uneven));
}

base::Status SaveLoraAdapter(const LoraAdapter& adapter, const DecoderConfig& model,
                             const std::string& directory) {
  const std::string prefix = ModelPrefix(model);
  std::vector<NamedTensor> tensors;
  for (const LoraModule& module : adapter.modules) {
    const std::int64_t rank = adapter.config.rank;
    tensors.push_back({TensorName(prefix, module, "lora_A"), {rank, module.inputs}, module.a});
    tensors.push_back({TensorName(prefix, module, "lora_B"), {module.outputs, rank}, module.b});
  }
  SUBMIX_RETURN_IF_ERROR(WriteSafetensors(base::JoinPath(directory, kWeightsFile), tensors,
                                          Dtype::kF32, {{"format", "pt"}}));
  return SaveLoraConfig(adapter.config, HasConv1d(model), base::JoinPath(directory, kConfigFile));
}

}  // namespace submix::model
