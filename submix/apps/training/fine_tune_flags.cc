#include "submix/apps/training/fine_tune_flags.h"

#include <string>

#include "submix/decode/precision.h"

namespace submix::apps {

train::Precision DefaultTrainingPrecision() {
  return decode::ProcessorMultipliesBfloat16() ? train::Precision::kBfloat16
                                               : train::Precision::kFloat32;
}

std::string TrainingPrecisionName(train::Precision precision) {
  return precision == train::Precision::kBfloat16 ? "bf16" : "f32";
}

train::Precision TrainingPrecisionOf(const std::string& name) {
  return name == "f32" ? train::Precision::kFloat32 : train::Precision::kBfloat16;
}

void AddAdapterFlags(CLI::App& command, AdapterFlags& flags) {
  model::LoraConfig& lora = flags.lora;
  command.add_flag("--full", flags.full, "Train all weights instead of a LoRA adapter");
  command.add_option("--rank", lora.rank, "LoRA rank")->check(CLI::PositiveNumber);
  command.add_option("--lora-alpha", lora.lora_alpha, "LoRA scaling is this over the rank");
  command
      .add_option("--targets", lora.target_modules,
                  "Adapted layers: c_attn, attn.c_proj, mlp.c_fc, mlp.c_proj")
      ->delimiter(',');
  command
      .add_option("--top-layers", flags.top_layers,
                  "Adapt only the last n layers (members share the trunk); 0 = all")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--precision", flags.precision, "Of the matrix products: f32 or bf16")
      ->check(CLI::IsMember({"f32", "bf16"}));
}

base::StatusOr<std::optional<model::LoraConfig>> AdapterOf(const AdapterFlags& flags, int layers) {
  if (flags.top_layers > layers) {
    return base::InvalidArgumentError("--top-layers " + std::to_string(flags.top_layers) +
                                      ": the public model has " + std::to_string(layers) +
                                      " layers");
  }
  if (flags.full) {
    if (flags.top_layers > 0) {
      return base::InvalidArgumentError("--top-layers goes with adapters, not with --full");
    }
    return std::optional<model::LoraConfig>();
  }
  model::LoraConfig lora = flags.lora;
  for (int layer = layers - flags.top_layers; flags.top_layers > 0 && layer < layers; ++layer) {
    lora.layers.push_back(layer);
  }
  return std::optional(lora);
}

void AddFineTuneFlags(CLI::App& command, FineTuneFlags& flags) {
  train::FineTuneOptions& options = flags.options;
  AddAdapterFlags(command, flags.adapter);
  command.add_option("--epochs", options.epochs, "Passes over a member's text")
      ->check(CLI::PositiveNumber);
  command.add_option("--learning-rate", options.learning_rate.peak, "AdamW's, after warm-up");
  command.add_option("--warmup-fraction", options.learning_rate.warmup_fraction,
                     "Share of the steps with a rising rate; 1 is the SubMix paper's");
  command.add_option("--weight-decay", options.adamw.weight_decay, "AdamW's, decoupled");
  command.add_option("--batch-size", options.batch_size, "Blocks an update")
      ->check(CLI::PositiveNumber);
  command.add_option("--block-tokens", options.block_tokens, "Tokens a block");
  command.add_option("--members-at-a-time", options.members_at_a_time,
                     "Members trained in one batch over the shared frozen weights");
  command.add_option("--threads", options.threads, "0 = one a processor");
}

base::StatusOr<train::FineTuneOptions> FineTuneOptionsOf(const FineTuneFlags& flags, int layers) {
  train::FineTuneOptions options = flags.options;
  options.precision = TrainingPrecisionOf(flags.adapter.precision);
  SUBMIX_ASSIGN_OR_RETURN(options.lora, AdapterOf(flags.adapter, layers));
  return options;
}

}  // namespace submix::apps
