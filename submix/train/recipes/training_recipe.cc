#include "submix/train/recipes/training_recipe.h"

#include <algorithm>

#include "submix/base/number_text.h"

namespace submix::train {
namespace {

using base::NumberText;

// The width of the model that the rates were measured on. Beyond it they fall as 1 / width does,
// the rule for AdamW on matrices (Yang et al. 2022, "Tensor Programs V", Table 3).
constexpr double kMeasuredWidth = 256;
// From here on a part is read three times, and from there once in large batches.
constexpr std::int64_t kReadThriceTokens = 20'000;
constexpr std::int64_t kLargeBatchTokens = 1'000'000;
constexpr double kAllWeightsRate = 1e-4;

// The upper half of the layers, so that all members share the trunk.
model::LoraConfig Adapter(const model::DecoderConfig& config) {
  model::LoraConfig lora;
  lora.rank = std::min(16, config.width);
  lora.lora_alpha = 2 * lora.rank;
  lora.target_modules = {"all-linear"};
  if (config.family == "gpt2") {
    lora.target_modules = {"c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"};
  }
  for (int layer = config.layers / 2; layer < config.layers; ++layer) lora.layers.push_back(layer);
  return lora;
}

double RateFor(const model::DecoderConfig& config, double measured) {
  return measured * std::min(1.0, kMeasuredWidth / config.width);
}

std::string Count(std::int64_t count, const std::string& one, const std::string& several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

std::string TrainedText(const FineTuneOptions& options) {
  if (!options.lora.has_value()) return "all weights";
  const model::LoraConfig& lora = *options.lora;
  std::string text = "adapters of rank " + std::to_string(lora.rank) + " (alpha " +
                     NumberText(lora.lora_alpha) + ") on";
  for (const std::string& module : lora.target_modules) text += " " + module;
  text += lora.layers.empty() ? " of all layers" : " of layers";
  for (const int layer : lora.layers) text += " " + std::to_string(layer);
  return text;
}

std::string BlocksText(const FineTuneOptions& options) {
  return std::to_string(options.batch_size) + " blocks of " + std::to_string(options.block_tokens) +
         " tokens";
}

std::string RateText(const FineTuneOptions& options) {
  const LearningRateSchedule& rate = options.learning_rate;
  return "rate " + NumberText(rate.peak, 4) + " after " + NumberText(100 * rate.warmup_fraction) +
         " % of the updates";
}

}  // namespace

FineTuneOptions RecommendedRecipe(const model::DecoderConfig& config, const RecipeInput& input) {
  FineTuneOptions options;
  options.block_tokens = std::min(options.block_tokens, config.context_length + 1);
  options.lora = Adapter(config);
  options.batch_size = 2;
  double rate = 4e-3;
  if (input.tokens_a_part >= kLargeBatchTokens || input.all_weights) {
    options.batch_size = 8;
    rate = 1e-3;
  } else if (input.tokens_a_part >= kReadThriceTokens) {
    options.epochs = 3;
    rate = 2.5e-3;
  }
  if (input.all_weights) {
    options.lora.reset();
    rate = kAllWeightsRate;
  } else {
    options.members_at_a_time = std::min(input.num_parts, 4);
  }
  options.learning_rate.peak = RateFor(config, rate);
  options.learning_rate.warmup_fraction = 0.1;
  return options;
}

FineTuneOptions RecommendedPrivateRecipe(const model::DecoderConfig& config, bool all_weights) {
  FineTuneOptions options;
  options.block_tokens = std::min(options.block_tokens, config.context_length + 1);
  options.lora = Adapter(config);
  if (all_weights) options.lora.reset();
  options.epochs = 10;
  options.learning_rate.peak = RateFor(config, all_weights ? 1e-3 : 1e-2);
  options.learning_rate.warmup_fraction = 0;
  return options;
}

FineTuneOptions PaperRecipe(const model::DecoderConfig& config, bool all_weights) {
  FineTuneOptions options;
  options.lora->target_modules = model::AttentionInputs(config);
  if (all_weights) options.lora.reset();
  return options;
}

std::string RecipeText(const FineTuneOptions& options) {
  return TrainedText(options) + "; " + Count(options.epochs, "pass", "passes") + ", " +
         BlocksText(options) + " an update, " + RateText(options) + "; " +
         std::to_string(options.members_at_a_time) + " members at a time, " +
         PrecisionName(options.precision);
}

std::string PrivateRecipeText(const FineTuneOptions& options, std::int64_t steps) {
  return TrainedText(options) + "; " +
         (steps > 0 ? Count(steps, "update", "updates")
                    : Count(options.epochs, "expected pass", "expected passes")) +
         ", " + BlocksText(options) + " of a user at a time, " + RateText(options) + "; " +
         PrecisionName(options.precision);
}

}  // namespace submix::train
