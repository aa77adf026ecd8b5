#include "submix/model/lora_config_file.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"

namespace submix::model {
namespace {

using base::JsonObject;
using base::Quoted;

constexpr int kMaxRank = 1 << 16;
constexpr int kMaxLayer = 1 << 12;

// Fields that are read below.
constexpr std::array<std::string_view, 9> kReadFields = {
    "peft_type",      "r",    "lora_alpha",          "target_modules",   "base_model_name_or_path",
    "fan_in_fan_out", "bias", "layers_to_transform", "init_lora_weights"};

// Fields that cannot change what a trained adapter computes. Every other field must be off.
constexpr std::array<std::string_view, 12> kHarmlessFields = {
    "auto_mapping", "inference_mode", "layers_pattern",    "loftq_config",
    "lora_dropout", "megatron_core",  "qalora_group_size", "revision",
    "task_type",    "peft_version",   "eva_config",        "lora_ga_config"};

bool Contains(std::span<const std::string_view> list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

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

base::Status CheckFeatures(const JsonObject& json) {
  SUBMIX_RETURN_IF_ERROR(ExpectText(json, "peft_type", "LORA"));
  if (json.Has("bias")) SUBMIX_RETURN_IF_ERROR(ExpectText(json, "bias", "none"));
  SUBMIX_RETURN_IF_ERROR(CheckInitialisation(json));
  SUBMIX_ASSIGN_OR_RETURN(const bool fan_in_fan_out, json.Boolean("fan_in_fan_out"));
  if (!fan_in_fan_out) {
    return json.FieldError("fan_in_fan_out",
                           "expected true: GPT-2's linear layers are Conv1D, weight [in, out]");
  }
  for (const std::string& field : json.fields()) {
    if (Contains(kReadFields, field) || Contains(kHarmlessFields, field) || json.IsOff(field)) {
      continue;
    }
    return json.FieldError(field, "not supported; only plain LoRA is read");
  }
  return base::OkStatus();
}

base::StatusOr<std::vector<std::string>> TargetModules(const JsonObject& json,
                                                       const std::string& path) {
  constexpr const char* kField = "target_modules";
  if (json.IsText(kField)) {
    return base::UnimplementedError(path +
                                    ": field \"target_modules\": a regular expression is "
                                    "not supported; list the modules");
  }
  SUBMIX_ASSIGN_OR_RETURN(std::vector<std::string> targets, json.Texts(kField));
  if (targets.empty()) return json.FieldError(kField, "expected at least one module");
  return targets;
}

// PEFT allows one number in the place of a list.
base::StatusOr<std::vector<int>> Layers(const JsonObject& json) {
  constexpr const char* kField = "layers_to_transform";
  std::vector<int> layers;
  if (!json.Has(kField)) return layers;
  if (!json.IsList(kField)) {
    SUBMIX_ASSIGN_OR_RETURN(const int layer, json.Int(kField, 0, kMaxLayer));
    layers.push_back(layer);
  } else {
    SUBMIX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> numbers,
                            json.Integers(kField, 0, kMaxLayer));
    for (const std::int64_t number : numbers) layers.push_back(static_cast<int>(number));
  }
  return layers;
}

// Where the layer's number stands in a name. GPT-2 has one such place, "h".
base::Status CheckLayersPattern(const JsonObject& json) {
  constexpr const char* kField = "layers_pattern";
  if (json.IsOff(kField)) return base::OkStatus();
  if (json.IsText(kField)) return ExpectText(json, kField, "h");
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<std::string> patterns, json.Texts(kField));
  if (patterns == std::vector<std::string>{"h"}) return base::OkStatus();
  return json.FieldError(kField, "only null and \"h\" are supported");
}

}  // namespace

base::StatusOr<LoraConfig> LoadLoraConfig(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject json, JsonObject::Load(path));
  SUBMIX_RETURN_IF_ERROR(CheckFeatures(json));
  SUBMIX_RETURN_IF_ERROR(CheckLayersPattern(json));
  LoraConfig config;
  SUBMIX_ASSIGN_OR_RETURN(config.rank, json.Int("r", 1, kMaxRank));
  SUBMIX_ASSIGN_OR_RETURN(config.lora_alpha, json.Number("lora_alpha"));
  SUBMIX_ASSIGN_OR_RETURN(config.target_modules, TargetModules(json, path));
  SUBMIX_ASSIGN_OR_RETURN(config.layers, Layers(json));
  if (json.Has("base_model_name_or_path")) {
    SUBMIX_ASSIGN_OR_RETURN(config.base_model, json.Text("base_model_name_or_path"));
  }
  return config;
}

base::Status SaveLoraConfig(const LoraConfig& config, const std::string& path) {
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
      {"fan_in_fan_out", true},
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
      {"target_modules", config.target_modules},
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

}  // namespace submix::model
