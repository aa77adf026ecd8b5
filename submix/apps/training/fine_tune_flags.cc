#include "submix/apps/training/fine_tune_flags.h"

#include <string>

#include "submix/decode/precision.h"

namespace submix::apps {
namespace {

bool Unsaid(const CLI::App& command, const char* name) {
  return command.get_option(name)->count() == 0;
}

}  // namespace

train::Precision DefaultTrainingPrecision() {
  return decode::ProcessorMultipliesBfloat16() ? train::Precision::kBfloat16
                                               : train::Precision::kFloat32;
}

void AddAdapterFlags(Flags flags, AdapterFlags& adapter) {
  model::LoraConfig& lora = adapter.lora;
  flags.Add("--full", adapter.full, "Train all weights instead of a LoRA adapter");
  flags.Add("--rank", lora.rank, kPositive, "LoRA rank");
  flags.Add("--lora-alpha", lora.lora_alpha, "LoRA scaling is this over the rank");
  flags.Add("--targets", lora.target_modules,
            "Adapted layers: all-linear; of a GPT-2 c_attn, attn.c_proj, mlp.c_fc, mlp.c_proj; of "
            "others q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj");
  flags.Add("--top-layers", adapter.top_layers, kNonNegative,
            "Adapt only the last n layers (members share the trunk); 0 = all");
  flags.Add("--precision", adapter.precision, OneOf({"f32", "bf16"}),
            "Of the matrix products: f32 or bf16");
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

void TakeUnsaid(const CLI::App& command, const model::LoraConfig& recipe, AdapterFlags& adapter) {
  if (Unsaid(command, "--rank")) adapter.lora.rank = recipe.rank;
  if (Unsaid(command, "--lora-alpha")) {
    adapter.lora.lora_alpha = recipe.lora_alpha / recipe.rank * adapter.lora.rank;
  }
  if (Unsaid(command, "--targets")) adapter.lora.target_modules = recipe.target_modules;
  if (Unsaid(command, "--top-layers")) adapter.top_layers = static_cast<int>(recipe.layers.size());
}

void TakeUnsaid(const CLI::App& command, const train::FineTuneOptions& recipe,
                FineTuneFlags& fine_tune) {
  if (recipe.lora.has_value()) TakeUnsaid(command, *recipe.lora, fine_tune.adapter);
  train::FineTuneOptions& options = fine_tune.options;
  if (Unsaid(command, "--epochs")) options.epochs = recipe.epochs;
  if (Unsaid(command, "--learning-rate")) options.learning_rate.peak = recipe.learning_rate.peak;
  if (Unsaid(command, "--warmup-fraction")) {
    options.learning_rate.warmup_fraction = recipe.learning_rate.warmup_fraction;
  }
  if (Unsaid(command, "--batch-size")) options.batch_size = recipe.batch_size;
  if (Unsaid(command, "--block-tokens")) options.block_tokens = recipe.block_tokens;
  if (Unsaid(command, "--members-at-a-time")) {
    options.members_at_a_time = recipe.members_at_a_time;
  }
}

void AddFineTuneFlags(Flags flags, FineTuneFlags& fine_tune) {
  train::FineTuneOptions& options = fine_tune.options;
  AddAdapterFlags(flags, fine_tune.adapter);
  flags.Add("--epochs", options.epochs, kPositive, "Passes over a member's text");
  flags.Add("--learning-rate", options.learning_rate.peak, "AdamW's, after warm-up");
  flags.Add("--warmup-fraction", options.learning_rate.warmup_fraction,
            "Share of the steps with a rising rate; 1 is the SubMix paper's");
  flags.Add("--weight-decay", options.adamw.weight_decay, "AdamW's, decoupled");
  flags.Add("--batch-size", options.batch_size, kPositive, "Blocks an update");
  flags.Add("--block-tokens", options.block_tokens, "Tokens a block");
  flags.Add("--members-at-a-time", options.members_at_a_time,
            "Members trained in one batch over the shared frozen weights");
  flags.Add("--threads", options.threads,
            "0 = OMP_NUM_THREADS or, where it is not set, one a processor");
}

base::StatusOr<train::FineTuneOptions> FineTuneOptionsOf(const FineTuneFlags& flags, int layers) {
  train::FineTuneOptions options = flags.options;
  options.precision = train::PrecisionOf(flags.adapter.precision);
  SUBMIX_ASSIGN_OR_RETURN(options.lora, AdapterOf(flags.adapter, layers));
  return options;
}

}  // namespace submix::apps
