#include "submix/train/recipes/adapter_choice.h"

#include "submix/train/recipes/training_options.h"

namespace submix::train {

base::StatusOr<std::optional<model::LoraConfig>> AdapterOf(const AdapterChoice& choice,
                                                           const model::LoraConfig& recipe,
                                                           int layers) {
  const int top_layers = choice.top_layers.value_or(0);
  SUBMIX_RETURN_IF_ERROR(
      CheckRange("top layers", top_layers, 0, layers, "those of the public model"));
  if (choice.full) {
    if (top_layers > 0) {
      return base::InvalidArgumentError(
          "top layers: they go with adapters, not where all weights are trained");
    }
    return std::optional<model::LoraConfig>();
  }
  model::LoraConfig lora = recipe;
  lora.rank = choice.rank.value_or(recipe.rank);
  lora.lora_alpha = choice.lora_alpha.value_or(recipe.lora_alpha / recipe.rank * lora.rank);
  if (!choice.targets.empty()) lora.target_modules = choice.targets;
  if (choice.top_layers.has_value()) lora.layers.clear();
  for (int layer = layers - top_layers; top_layers > 0 && layer < layers; ++layer) {
    lora.layers.push_back(layer);
  }
  return std::optional(lora);
}

}  // namespace submix::train
