// LoRA adapters in PEFT's names and layout: adapter_config.json and adapter_model.safetensors, for
// every family of decoder_config.h.
#pragma once

#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/model/decoder_config.h"

namespace submix::model {

struct LoraConfig {
  int rank = 8;            // PEFT's r
  double lora_alpha = 16;  // scaling = lora_alpha / rank
  // Of a GPT-2 "c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"; of others "q_proj", "k_proj",
  // "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj" (PEFT matches names by suffix); or
  // "all-linear".
  std::vector<std::string> target_modules = {"c_attn"};
  // PEFT's layers_to_transform; empty = all layers.
  std::vector<int> layers;
  // PEFT's base_model_name_or_path, informative.
  std::string base_model;
  bool operator==(const LoraConfig&) const = default;
};
// The target modules of what attention reads: PEFT's default for most families.
std::vector<std::string> AttentionInputs(const DecoderConfig& model);

// One line that differs between any two that train differently; base_model is no part of it.
std::string IdentityText(const LoraConfig& config);

// One adapted linear layer: y += scaling * (x A^T) B^T.
struct LoraModule {
  std::string name;  // "h.0.attn.c_attn"
  int inputs = 0;
  int outputs = 0;
  std::vector<float> a;  // [rank, inputs], lora_A.weight
  std::vector<float> b;  // [outputs, rank], lora_B.weight
};

struct LoraAdapter {
  LoraConfig config;
  std::vector<LoraModule> modules;  // in layer order

  double scaling() const { return config.lora_alpha / config.rank; }
};

// The modules that `config` adapts in a model of this shape, in layer order, with a and b empty.
// Errors: kInvalidArgument for an unknown target module or a layer out of range.
base::StatusOr<std::vector<LoraModule>> AdaptedModules(const DecoderConfig& model,
                                                       const LoraConfig& config);

// Reads a directory as PEFT writes it (tensor names "base_model.model.transformer.h.0.attn.c_attn.
// lora_A.weight", also without the beginning, or with ".default"). Modules of several ranks and
// scalings (use_rslora, rank_pattern, alpha_pattern) come as one rank, filled up with zeros, and
// one scaling: in float32 the same products. Errors: kNotFound; kInvalidArgument for features not
// supported (bias other than "none", modules_to_save, DoRA, fan_in_fan_out of another family);
// kUnimplemented for target_modules as a regular expression; kFailedPrecondition for an adapter of
// another base model (a shape or layer that does not fit), naming the tensor; kDataLoss for damaged
// weights.
base::StatusOr<LoraAdapter> LoadLoraAdapter(const std::string& directory,
                                            const DecoderConfig& model);
// The same without weights, from adapter_config.json alone: a and b stay empty.
base::StatusOr<LoraAdapter> LoadLoraShape(const std::string& directory, const DecoderConfig& model);
// Writes a directory that PEFT loads. The directory must exist.
base::Status SaveLoraAdapter(const LoraAdapter& adapter, const DecoderConfig& model,
                             const std::string& directory);

}  // namespace submix::model
